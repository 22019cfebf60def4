// What the scripts of the pages hand to each other, for the check of types alone: no page loads this file.

type Attributes = Record<string, string | number | boolean | null | undefined | ((event: any) => unknown)>;
type Point = [number, number];
type Numbers = Record<string, any>;

/** Numbers of book/ldpbook/explore.py: one value, or a list of them, for each combination of the axes' values. */
interface Grid {
  axes: Record<string, any[]>;
  values: any[];
}
/** One axis of an explorer's plot. */
interface Axis {
  domain: Point;
  title?: string;
  log?: boolean;
  ticks?: number[];
  format?: (v: number) => string;
}
interface Axes {
  label: string;
  x: Axis;
  y: Axis;
  height?: number | ((width: number) => number);
  left?: number;
  bottom?: number;
  right?: number;
  top?: number;
}
interface Control {
  label: string;
  kind: "range" | "list" | "choice" | "flag";
  value: any;
  min?: number;
  max?: number;
  step?: number;
  values?: any[];
  choices?: Record<string, string>;
  note?: string;
  format?: (v: any) => string;
}
/** What explore/NAME.js gives to `ldpkit.explorer`. */
interface Plan {
  controls: Record<string, Control>;
  views: Record<string, { caption: string; wide?: boolean }>;
  buttons?: Record<string, string>;
  settle?(state: Numbers, changes: Numbers, inputs: Record<string, any>): Numbers;
  derived?(state: Numbers): string[];
  start(tools: any): (state: any) => void;
}

/** All that is in `window.ldpkit`; a page has the parts whose scripts it loads. */
interface Parts {
  /** Strike the sentences whose condition a run found false; without verdicts, show those of the built book. */
  conditions: (verdicts?: Record<string, boolean | null>, values?: string[]) => void;
  /** Make cards for a phone of tables with sentences. */
  cards: (place: ParentNode) => void;
  base: {
    make<K extends keyof HTMLElementTagNameMap>(
      tag: K,
      attributes?: Attributes,
      ...inside: (Node | string)[]
    ): HTMLElementTagNameMap[K];
    button(
      words: string,
      press: ((event: any) => unknown) | null,
      attributes?: Attributes,
    ): HTMLButtonElement;
    escaped(text: unknown): string;
    minus(text: string): string;
    grouped(n: number): string;
    raised(whole: number): string;
    extreme(v: number): boolean;
    power(v: number, n: number): string;
    digits(v: number | null, n?: number): string;
    least(v: number): string;
    steps(low: number, high: number, count: number): number[];
    dark(): boolean;
    resized(place: Element, draw: () => void): void;
    themed(draw: () => void): void;
    remember(fragment: string): void;
  };
  rates(given: Numbers): { tpr: number; fpr: number; epsilon: number; loss: number; claim: number };
  bound(given: Numbers): {
    tpr: number[];
    fpr: number[];
    epsilon: number;
    ceiling: number;
    tail: number;
  };
  refine(given: Numbers): Numbers;
  shuffle(given: Numbers): { tight: number; upper: number; closed: number | null; least: number };
  rad(given: Numbers): {
    rad: number;
    success_rate: number | null;
    limit: number | null;
    total: number;
  };
  keyvalue(given: Numbers): { limit: number; claim: number; records: number };
  laws: any;
  explorer(name: string, plan: Plan): void;
  tools: {
    entries(grid: Grid, ...setting: any[]): any[];
    mixed(h: number): number;
    named(list: string[]): Record<string, string>;
    percent(share: number): string;
    random(seed: number): () => number;
    Wealth: any;
  };
  games: Record<string, any>;
  keyvalueGrid: Grid;
  roundsGrid: Grid;
  shuffleGrid: Grid;
  client: any;
  Learner: any;
  twin: {
    bring(name: string, data: any): any;
    overlay(host: HTMLElement, csv: string, label: string): void;
    clear(host: HTMLElement): void;
  };
  live: any;
  engine: any;
}
/** In the engine's worker. */
declare var engine: any;
declare var ldpkit: Partial<Parts>;
declare var ldpkitBoard: any;

// of Sphinx's search, which search.js changes
declare const SPELLING_TABLE: Record<string, string>;
declare var stopwords: string[];
declare var Stemmer: any;
declare var Scorer: any;
declare var Search: any;
declare var Documentation: { TRANSLATIONS: Record<string, string> };
