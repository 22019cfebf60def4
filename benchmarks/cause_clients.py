"""Thirty broken clients and the cause of each leak, written after the search was finished.

`CLIENTS` maps a name to a function that makes a fresh client of one value in {0, 1}, and to the
words that a right cause contains. The words are empty if no single removal can be right. Each
client claims epsilon = 1.
"""

import base64
import json
import math
import random

CLIENTS = {}


def case(cause):
    def named(make):
        CLIENTS[make.__name__] = make, cause
        return make

    return named


def answer(x):
    """Randomised response at epsilon = 1."""
    return x ^ (random.random() > math.e / (1 + math.e))


@case("field size")
def size_of_the_input():
    return lambda x: {"yes": answer(x), "size": [3, 2][x], "id": random.getrandbits(40)}


@case("field b")
def weak_noise_in_one_field():
    return lambda x: {"a": answer(0), "b": x ^ (random.random() < 0.05), "c": answer(1)}


@case("field inner, field flag")
def flag_two_levels_down():
    return lambda x: {
        "inner": {"flag": x if random.random() < 0.5 else 2, "t": random.random()},
        "yes": 1,
    }


@case("entry 4")
def fourth_entry():
    return lambda x: [
        random.randrange(9),
        random.randrange(9),
        answer(x),
        5 * x + random.randrange(7),
    ]


@case("entry 2, field v")
def field_of_an_entry():
    return lambda x: [{"v": random.randrange(4)}, {"v": (random.randrange(3) + x) % 4}, {"v": 1}]


@case("fields a and b")
def shares_in_two_fields():
    def send(x):
        a = random.getrandbits(16)
        return {"a": a, "b": a ^ x, "t": random.random()}

    return send


@case("entries 1 and 3")
def shares_in_two_entries():
    def send(x):
        a = random.randrange(2)
        return [a, random.random(), a ^ x, answer(x)]

    return send


@case("order of keys")
def order_of_two_fields():
    return lambda x: dict([("a", answer(x)), ("b", 1)][:: 1 - 2 * x])


@case("order of keys")
def order_of_fields_inside():
    return lambda x: {
        "z": answer(0),
        "m": dict(sorted({"p": 1, "q": 2, "r": 3}.items(), reverse=bool(x))),
    }


@case("form of numbers")
def integer_or_real():
    return lambda x: {"n": [7, 7.0][x], "yes": answer(x)}


@case("form of numbers")
def negative_zero():
    return lambda x: [0.0 if x else -0.0, answer(x)]


@case("form of numbers")
def true_or_one():
    return lambda x: {"set": [True, 1][x], "r": random.random()}


@case("last digits")
def steps_of_a_float():
    return lambda x: random.gauss(0, 1) if x else random.randrange(-4096, 4096) / 4096 + 0.0


@case("last digits")
def hidden_in_the_last_bits():
    return lambda x: {"t": round(random.random(), 2) + x * 1e-9, "yes": answer(x)}


@case("form of text")
def capital_letters():
    return lambda x: {"word": ["ok", "OK"][x], "yes": answer(x)}


@case("form of text")
def a_blank_at_the_end():
    return lambda x: ["no", "no "][x] if random.random() < 0.9 else "yes"


@case("length")
def padded_list():
    return lambda x: [random.randrange(50) for _ in range(8 + 4 * x)]


@case("length")
def letters_of_a_text():
    return lambda x: "".join(random.choice("abcdefgh") for _ in range(6 + x))


@case("order of the list")
def first_of_a_set():
    def send(x):
        names = [*"abcdef"]
        random.shuffle(names)
        names.remove("ab"[x])
        return ["ab"[x], *names] if random.random() < 0.7 else [*names, "ab"[x]]

    return send


@case("order of the list")
def sorted_or_not():
    return lambda x: sorted("qwert") if x else random.sample("qwert", 5)


@case("what the client remembers")
def counter_of_ones():
    seen = [0]

    def send(x):
        seen[0] += x
        return {"n": seen[0], "yes": answer(x)}

    return send


@case("what the client remembers")
def memory_of_the_input_before():
    past = [0]

    def send(x):
        out, past[0] = past[0], x
        return {"yes": answer(x), "last": out}

    return send


@case("what the client remembers")
def answer_that_is_kept():
    kept = {}
    return lambda x: [kept.setdefault(x, random.getrandbits(30)), random.randrange(3)]


@case("failed calls")
def fails_for_one_input():
    def send(x):
        if x and random.random() < 0.3:
            raise ValueError("no answer")
        return answer(x)

    return send


@case("failed calls")
def message_of_an_error():
    def send(x):
        if random.random() < 0.2:
            raise ValueError(f"cannot store {x}")
        return {"yes": answer(x)}

    return send


@case("a repeated report")
def no_noise_at_all():
    return lambda x: {"yes": x}


@case("field e")
def text_with_the_input():
    return lambda x: {
        "e": base64.b64encode(json.dumps({"v": x, "r": random.random()}).encode()).decode(),
        "y": 1,
    }


@case("entries 1, 2, 3")
def parity_of_three_bits():
    def send(x):
        a, b = random.randrange(2), random.randrange(2)
        return [a, b, a ^ b ^ x, *(random.randrange(2) for _ in range(5))]

    return send


@case("fields a and c")
def two_copies():
    return lambda x: {
        "a": x ^ (random.random() < 0.1),
        "b": random.random(),
        "c": x ^ (random.random() < 0.1),
    }


@case("")
def bits_with_half_of_the_noise():
    return lambda x: [int((i == x) ^ (random.random() < 0.25)) for i in range(6)]
