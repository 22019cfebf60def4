"""Compute and draw the two privacy games of LDP-Auditor's Figure 9."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from ldpbook import plot_style, plots
from ldpkit.auditors import rad_bounds


def odds(client):
    """Return how often the best attacker is right: on a report of GRR, on a noisy count, and on any mechanism with the budget."""
    epsilon = client.epsilon
    curves = {"local": rad_bounds.tradeoff_support(client), "central": rad_bounds.tradeoff_laplace(epsilon)}
    found = {name: 0.5 + rad_bounds.total_variation(curve) / 2 for name, curve in curves.items()}
    return found | {"most": 0.5 + rad_bounds.tv_dp(epsilon) / 2}


def draw(client, records):
    """Draw what the attacker sees in the central and in the local game under either secret, as one figure with its table."""
    figure, (central, local) = plt.subplots(1, 2, figsize=(8.4, 3.0), layout="constrained")
    x, rows = np.linspace(records - 6 / client.epsilon, records + 1 + 6 / client.epsilon, 241), []
    for i, (member, colour) in enumerate(zip(("without Alice", "with Alice"), plots.COLOURS)):
        density = client.epsilon / 2 * np.exp(-client.epsilon * np.abs(x - records - i))
        central.plot(x, density, color=colour, ls="-" if i else "--", label=member)
        rows += [("central", member, "exact", at, value, None) for at, value in zip(x, density)]
        shown = np.arange(min(client.k, 8))
        chances = np.where(shown == i, client.p, client.q)
        look = {"color": colour} if i else {"facecolor": "none", "edgecolor": colour, "lw": 1.6}
        local.bar(shown + 1 + 0.4 * (i - 0.5), chances, 0.36, label=f"value {i + 1}", **look)
        rows += [("local", f"value {i + 1}", "exact", at + 1, value, None) for at, value in zip(shown, chances)]
    central.axvline(records + 0.5, color="black", ls=":")
    central.set(title="Central: is Alice in the data?", xlabel="published number of records", ylabel="density")
    more = " (the first eight values)" if client.k > 8 else ""
    local.set(title="Local: is the value 1 or 2?", xlabel=f"report of GRR{more}", ylabel="probability", xticks=shown + 1)
    for axis in (central, local):
        axis.legend()
    near = records + 1 + 1 / client.epsilon, client.epsilon / 2 * np.exp(-1)
    plot_style.note(central, "one person moves\nthe count by one", near, (0.85, 0.5))
    if client.k > 2:
        plot_style.note(local, "a third value is as likely\nunder both secrets", (3, client.q), (0.76, 0.62))
    return plots.attach(figure, pd.DataFrame(rows, columns=plots.COLUMNS))
