"""A second implementation of docs/format.md, for one record, with the standard library alone.

It was written from that page and shares nothing with `ldpsql_device`: where the two differ, one of
them or the page is wrong. It checks signatures and nothing else; what must be refused besides is
not its business.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import math
from collections.abc import Iterator, Sequence
from datetime import date, datetime, timedelta
from fractions import Fraction
from itertools import product
from typing import Any

ALL = 1 << 64
Json = Any


# -- columns --------------------------------------------------------------------------------------


def code_of(dimension: Json, value: Any, drawn: int) -> int:
    """The code of a value, where the drawn code is this one."""
    kind, size, edges = dimension["type"], declared_of(dimension), edges_of(dimension)
    has_other = dimension.get("outside") == "other"
    missing = drawn
    if dimension.get("missing") == "code":
        missing = size + (has_other and kind == "category")
    if kind == "bool":
        return int(value) if isinstance(value, bool) else missing
    if kind == "category":
        values = dimension["values"]
        if isinstance(values[0], int):
            value = whole_number(value)
        if not isinstance(value, type(values[0])):
            return missing
        if value in values:
            place = int(values.index(value))
            return int(dimension["merged"][place]) if "merged" in dimension else place
        return size if has_other else drawn
    point = point_of(kind, value)
    if point is None:
        return missing
    below = point < edges[0]
    above = point > edges[-1] if kind == "float" else point >= edges[-1]
    if (below or above) and dimension.get("outside") == "random":
        return drawn
    if (below or above) and has_other:
        return missing
    return min(max(sum(edge <= point for edge in edges) - 1, 0), size - 1)


def point_of(kind: str, value: Any) -> Any:
    """A value as what its type compares; None where it is of another type."""
    if kind == "int":
        return whole_number(value)
    if kind == "float":
        if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
            return None
        limit = Fraction(2) ** 1024
        if not -limit < value < limit:
            return limit if value > 0 else -limit
        return Fraction(float(value))
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value) if "T" in value else date.fromisoformat(value)
        except ValueError:
            return None
    wanted = datetime if kind == "timestamp" else date
    if type(value) is not wanted or getattr(value, "tzinfo", None) is not None:
        return None
    return moment_of(value)


def whole_number(value: Any) -> Any:
    """A whole number, which a double may hold; infinities as such; else None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, float) and math.isfinite(value):
        return int(value) if value.is_integer() else None
    return value if value == value else None


def declared_of(dimension: Json) -> int:
    """How many codes are declared: without those of other and missing values."""
    codes = dimension.get("merged", range(len(dimension.get("values", ()))))
    sizes = {"bool": 2, "category": len(set(codes))}
    return sizes.get(dimension["type"]) or len(edges_of(dimension)) - 1


def drawn_codes(dimensions: Sequence[Json], words: Sequence[int]) -> tuple[list[int], list[int]]:
    """A drawn code for every dimension, and the words that are left."""
    left, codes, product = list(words), [], ALL
    for dimension in dimensions:
        size = declared_of(dimension)
        if product * size > 1 << 32:
            word, product = left.pop(0), 1
        codes.append(word * size // ALL)
        word, product = word * size % ALL, product * size
    return codes, left


def edges_of(dimension: Json) -> list[Any]:
    """The edges of an ordered dimension; nothing for others."""
    kind = dimension["type"]
    if kind == "int" and "edges" in dimension:
        return [int(edge) for edge in dimension["edges"]]
    if kind == "int":
        low, high = map(int, dimension["domain"])
        return [*range(low, high + 1, dimension.get("bin_width", 1)), high + 1]
    if kind == "float" and "edges" in dimension:
        return [Fraction(float(edge)) for edge in dimension["edges"]]
    if kind == "float":
        low, high = map(float, dimension["domain"])
        count = dimension["bins"]
        inner = [Fraction(low + (high - low) * i / count) for i in range(count)]
        return [*inner, Fraction(high)]
    if "edges" in dimension:
        return list(map(moment_of, dimension["edges"]))
    if kind in ("date", "timestamp"):
        first, last = dimension["range"]
        end = moment_of(last)
        if len(last) == 10:
            end += timedelta(days=1) - timedelta(microseconds=1)
        return list(units(moment_of(first), end, dimension.get("unit", "day")))
    return []


def moment_of(text: Any) -> datetime:
    """A moment; a date is its start."""
    if isinstance(text, date) and not isinstance(text, datetime):
        text = text.isoformat()
    return text if isinstance(text, datetime) else datetime.fromisoformat(text)


def units(first: datetime, last: datetime, unit: str) -> Iterator[datetime]:
    """The starts of all units from that of `first`, and the first one behind `last`."""
    start = first.replace(minute=0, second=0, microsecond=0)
    if unit != "hour":
        start = start.replace(hour=0)
    if unit == "week":
        start -= timedelta(days=start.weekday())
    if unit == "month":
        start = start.replace(day=1)
    steps = {"hour": timedelta(hours=1), "day": timedelta(days=1), "week": timedelta(days=7)}
    yield start
    while start <= last:
        if unit == "month":
            start = start.replace(year=start.year + start.month // 12, month=start.month % 12 + 1)
        else:
            start += steps[unit]
        yield start


def threshold_of(measure: Json, value: Any) -> int:
    """floor((value - low) / (high - low) steps 2^64) of a clamped value, or what it counts as."""
    low, high = (Fraction(float(bound)) for bound in measure["bounds"])
    is_quadratic = measure.get("rounding") == "quadratic"
    scale = (measure.get("levels", 2) - (2 if is_quadratic else 1)) * ALL
    if is_missing(value):
        if "missing_as" not in measure:
            return scale // 2
        value = float(measure["missing_as"])
    clamped = min(max(value, low), high)
    number = clamped if isinstance(clamped, Fraction) else Fraction(float(clamped))
    return math.floor((number - low) / (high - low) * scale)


def is_missing(value: Any) -> bool:
    """Whether a value is no number."""
    return isinstance(value, bool) or not isinstance(value, int | float) or value != value


def code_of_number(measure: Json, value: Any, word: int) -> int:
    """The level that a word gives, or the code of a missing value."""
    if is_missing(value) and "missing" in measure:
        return int(measure.get("levels", 2))
    threshold = threshold_of(measure, value)
    step, rest = threshold // ALL, threshold % ALL
    if measure.get("rounding") != "quadratic":
        return step + 1 if word < rest else step
    if word < (ALL - rest) ** 2 // (2 * ALL):
        return step
    return step + 2 if word >= ALL - rest**2 // (2 * ALL) else step + 1


# -- when, and by whom ----------------------------------------------------------------------------


def is_open(survey: Json, day: str) -> bool:
    """Whether a survey is answered on a day; days in ISO 8601 are in the order of their texts."""
    validity = survey.get("validity", {})
    return bool(validity.get("from", day) <= day <= validity.get("until", day))


def period_of(survey: Json, day: str) -> str | None:
    """The first day of the period of a day."""
    monday = date.fromisoformat(day) - timedelta(days=date.fromisoformat(day).weekday())
    names = {None: None, "day": day, "week": monday.isoformat(), "month": f"{day[:8]}01"}
    return names[survey.get("period")]


def turn_of(survey: Json, day: str) -> int:
    """The offset of the devices that answer in the period of a day."""
    own = date.fromisoformat(str(period_of(survey, day)))
    days, months = (own - date(1970, 1, 1)).days, 12 * own.year + own.month - 1
    number = {"day": days, "week": (days + 3) // 7, "month": months}[survey["period"]]
    return int(number % survey["sample"])


def last_sending_day(survey: Json, drawn: str) -> str:
    """The last day on which a report that was drawn on a day may be sent again."""
    last = (date.fromisoformat(drawn) + timedelta(days=survey["replay_window"])).isoformat()
    return min(last, str(survey.get("validity", {}).get("until", last)))


def is_signed(said: Json, by: str = "author") -> bool:
    """Whether the signature is by the owner of the key that it names: RFC 8032, section 5.1.7."""
    covered = {key: value for key, value in said.items() if key != "signature"}
    text = json.dumps(covered, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    author, signature = (bytes.fromhex(said[key]) for key in (by, "signature"))
    nonce, scalar = signature[:32], int.from_bytes(signature[32:], "little")
    digest = hashlib.sha512(nonce + author + text.encode()).digest()
    challenge = int.from_bytes(digest, "little") % ORDER
    y = 4 * pow(5, -1, FIELD) % FIELD
    base = decompress(y.to_bytes(32, "little"))
    key, commitment = decompress(author), decompress(nonce)
    if base is None or key is None or commitment is None or scalar >= ORDER:
        return False
    if multiply(8, key) == (0, 1):
        return False
    return multiply(scalar, base) == add(commitment, multiply(challenge, key))


def is_believed(said: Json, survey: Json, day: str, seen: dict[str, list[str]]) -> bool:
    """Whether a collector's answer says that a survey is asked on a day, the latest that the device
    has seen; seen: by author and table, when the latest one was issued, and about which survey."""
    text = json.dumps(survey, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    wanted = {
        "ldpsql_statement": 1,
        "table": survey["table"],
        "fingerprint": hashlib.sha256(text.encode()).hexdigest(),
        "author": survey.get("author"),
    }
    if set(said) != {*wanted, "issued", "until", "signature"}:
        return False
    if any(said[key] != value for key, value in wanted.items()):
        return False
    try:
        days = [date.fromisoformat(said[key]).isoformat() for key in ("issued", "until")]
        digits = bytes.fromhex(said["signature"]).hex()
    except ValueError:
        return False
    if days != [said["issued"], said["until"]] or digits != said["signature"]:
        return False
    if not (said["issued"] <= day <= said["until"] and is_signed(said)):
        return False
    own = [said["issued"], said["fingerprint"]]
    last = seen.setdefault(f"{said['author']}:{said['table']}", own)
    if last[0] < own[0]:
        last[:] = own
    return last == own


def is_pledged(said: Json, survey: Json, day: str, shufflers: Sequence[str]) -> bool:
    """Whether what a shuffler says of a survey is believed on a day, the latest that the device has
    seen, where an app trusts these shufflers."""
    text = json.dumps(survey, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    keys = {"ldpsql_pledge", "fingerprint", "shuffle", "until", "encryption", "shuffler"}
    if not isinstance(said, dict) or set(said) != {*keys, "signature"}:
        return False
    if type(said["ldpsql_pledge"]) is not int or said["ldpsql_pledge"] != 1:
        return False
    if said["shuffler"] not in shufflers or said["shuffler"] == survey.get("author"):
        return False
    claimed, own = survey["promise"].get("shuffle"), said["shuffle"]
    if claimed is None or set(own) != set(claimed) or "delta" in survey["promise"]:
        return False
    if (
        survey["schema"].get("public")
        or said["fingerprint"] != hashlib.sha256(text.encode()).hexdigest()
    ):
        return False
    try:
        days = date.fromisoformat(said["until"]).isoformat()
        for name in ("epsilon", "delta", "honest"):
            text = own[name]
            if not isinstance(text, str) or not 0 < Fraction(text) <= Fraction(claimed[name]):
                return False
        digits = [bytes.fromhex(said[name]).hex() for name in ("encryption", "signature")]
    except (ValueError, TypeError):
        return False
    if [days, *digits] != [said[name] for name in ("until", "encryption", "signature")]:
        return False
    if own["users"] < claimed["users"] or day > said["until"] or len(digits[0]) != 64:
        return False
    return any(exchange(bytes(32), bytes.fromhex(digits[0]))) and is_signed(said, "shuffler")


def exchange(private: bytes, public: bytes) -> bytes:
    """X25519 (RFC 7748, 5)."""
    scalar = int.from_bytes(private, "little") % 2**255 & ~7 | 2**254
    u = int.from_bytes(public, "little") % 2**255 % FIELD
    x, z, after, below = 1, 0, u, 1
    for place in reversed(range(255)):
        bit = scalar >> place & 1
        if bit:
            x, z, after, below = after, below, x, z
        a, b, c, d = (
            (x + z) ** 2,
            (x - z) ** 2,
            (after - below) * (x + z),
            (after + below) * (x - z),
        )
        after, below = (c + d) ** 2 % FIELD, u * (c - d) ** 2 % FIELD
        x, z = a * b % FIELD, (a - b) * (a + 121665 * (a - b)) % FIELD
        if bit:
            x, z, after, below = after, below, x, z
    return (x * pow(z, -1, FIELD) % FIELD if z else 0).to_bytes(32, "little")


def key_of_sealed(line: str, private: bytes) -> tuple[bytes, bytes, bytes]:
    """AES-GCM's key and nonce of a sealed report, and what they encrypt (RFC 9180, base mode)."""
    message = bytes.fromhex(json.loads(line)["sealed"])
    base = (9).to_bytes(32, "little")
    kem, suite = b"KEM" + bytes([0, 32]), b"HPKE" + bytes([0, 32, 0, 1, 0, 1])

    def extract(salt: bytes, label: bytes, given: bytes, who: bytes = suite) -> bytes:
        return hmac.digest(salt, b"HPKE-v1" + who + label + given, "sha256")

    def expand(key: bytes, label: bytes, info: bytes, size: int, who: bytes = suite) -> bytes:
        told = bytes([0, size]) + b"HPKE-v1" + who + label + info + bytes([1])
        return hmac.digest(key, told, "sha256")[:size]

    pair = message[:32] + exchange(private, base)
    drawn = extract(b"", b"eae_prk", exchange(private, message[:32]), kem)
    shared = expand(drawn, b"shared_secret", pair, 32, kem)
    info = extract(b"", b"info_hash", b"ldpsql sealed report 1")
    context = b"\0" + extract(b"", b"psk_id_hash", b"") + info
    secret = extract(shared, b"secret", b"")
    key = expand(secret, b"key", context, 16)
    return key, expand(secret, b"base_nonce", context, 12), message[32:]


FIELD = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
CURVE = -121665 * pow(121666, -1, FIELD) % FIELD
Point = tuple[int, int]


def decompress(encoded: bytes) -> Point | None:
    """A point from its y and the lowest bit of its x; None where there is none."""
    whole_number = int.from_bytes(encoded, "little")
    y, sign = whole_number % 2**255, whole_number >> 255
    square = (y * y - 1) * pow(CURVE * y * y + 1, -1, FIELD) % FIELD
    x = pow(square, (FIELD + 3) // 8, FIELD)
    if x * x % FIELD != square:
        x = x * pow(2, (FIELD - 1) // 4, FIELD) % FIELD
    if y >= FIELD or x * x % FIELD != square or (x == 0 and sign):
        return None
    return (x if x & 1 == sign else FIELD - x), y


def add(first: Point, second: Point) -> Point:
    """The sum of two points of the twisted Edwards curve."""
    (a, b), (c, d) = first, second
    product_of_all = CURVE * a * b * c * d % FIELD
    x = (a * d + b * c) * pow(1 + product_of_all, -1, FIELD) % FIELD
    return x, (b * d + a * c) * pow(1 - product_of_all, -1, FIELD) % FIELD


def multiply(scalar: int, point: Point) -> Point:
    """A multiple of a point, by doubling."""
    result = (0, 1)
    while scalar:
        if scalar & 1:
            result = add(result, point)
        point, scalar = add(point, point), scalar >> 1
    return result


# -- the plan -------------------------------------------------------------------------------------


def answer(survey: Json, record: Json, words: Sequence[int]) -> str:
    """The hexadecimal digits of the report that a record and words give."""
    schema, plan = survey["schema"], survey["plan"]
    measures = schema["measure"]
    dimensions = schema["dimension"]
    drawn, words = drawn_codes(dimensions, words)
    codes = [code_of(d, record.get(d["name"]), c) for d, c in zip(dimensions, drawn, strict=True)]
    for measure, word in zip(measures, words, strict=False):
        codes.append(code_of_number(measure, record.get(measure["name"]), word))
    numbers = draw(plan, codes, words[len(measures) :])
    return "".join(
        f"{number:0{width // 4}x}" for number, width in zip(numbers, widths_of(plan), strict=True)
    )


def whole(integer: Json, choices: Sequence[int]) -> int:
    """An integer for what was drawn."""
    return (
        integer["values"][choices[integer["step"]]] if isinstance(integer, dict) else int(integer)
    )


def choose(weights: Sequence[int], half: int) -> int:
    """The alternative that a half of a word means."""
    total, start, chosen = sum(weights), 0, 0
    for number, weight in enumerate(weights):
        if (start << 32) // total <= half:
            chosen = number
        start += weight
    return chosen


def weights_of(step: Json) -> list[int]:
    """The weight of every choice."""
    mantissas = [int(mantissa) for mantissa in step["mantissas"]]
    return [
        m << e for m, e in zip(mantissas, step.get("exponents", [0] * len(mantissas)), strict=True)
    ]


def draw(plan: Json, codes: Sequence[int], words: Sequence[int]) -> list[int]:
    """The numbers of a report."""
    faces = plan["faces"]
    halves = [half for word in words for half in (word >> 32, word & 0xFFFFFFFF)]
    number = choose([int(face["weight"]) for face in faces], halves[0])
    face = faces[number]
    steps = face.get("steps", [])
    choices = [choose(weights_of(step), halves[1 + s]) for s, step in enumerate(steps)]
    place = max(len(f.get("steps", [])) for f in faces) // 2 + 1
    ranges = [whole(coin, choices) for coin in face.get("coins", [])]
    coins = [words[place + c] * limit >> 64 for c, limit in enumerate(ranges)]
    most_coins = max(len(f.get("coins", [])) for f in faces)
    place += most_coins
    question = 0
    for step, choice in zip(steps, choices, strict=True):
        if not step.get("secret"):
            question = question * len(step["mantissas"]) + choice
    question += sum(map(questions_of, faces[:number]))
    answers: list[int] = []
    for part in face["parts"]:
        given, used = respond(plan, part, codes, choices, coins, words[place:])
        answers, place = answers + given, place + used
    columns = max(sum(columns_of(part) for part in f["parts"]) for f in faces)
    blank = [0] * (columns - len(answers))
    return [question, *coins, *[0] * (most_coins - len(coins)), *answers, *blank]


def questions_of(face: Json) -> int:
    """How many questions a face has."""
    return math.prod(len(s["mantissas"]) for s in face.get("steps", []) if not s.get("secret"))


def symbol_of(
    plan: Json, part: Json, codes: Sequence[int], choices: Sequence[int], coins: Sequence[int]
) -> list[int]:
    """The digits that are answered."""
    tables, digits = plan.get("tables", []), []
    for digit in part["digits"]:
        total = whole(digit.get("plus", 0), choices)
        for term in digit["terms"]:
            code = codes[term["attribute"]]
            look = code // whole(term.get("divide", 1), choices)
            if "table" in term:
                look = tables[term["table"]][code]
            if "cuts" in term:
                look = sum(cut <= code for cut in tables[term["cuts"]])
            total += whole(term.get("coefficient", 1), choices) * look
        if "table" in digit:
            total = tables[digit["table"]][total]
        digits.append(total % whole(digit["radix"], choices) if digit.get("modulus") else total)
    then = part.get("then")
    if then is None:
        return digits
    flat = flatten(digits, [whole(digit["radix"], choices) for digit in part["digits"]])
    if then["kind"] == "parity":
        row = whole(then.get("times", 1), choices) * coins[then["coin"]]
        return [(row + whole(then.get("plus", 0), choices) & flat).bit_count() & 1]
    prime = whole(then["prime"], choices)
    inverse = pow(flat, prime - 2, prime) if flat else 0
    mixed = ((coins[then["slope"]] + 1) * inverse + coins[then["shift"]]) % prime
    return [mixed % whole(then["values"], choices)]


def radices_of(part: Json, choices: Sequence[int]) -> list[int]:
    """Values of every digit that is answered."""
    then = part.get("then")
    if then is None:
        return [whole(digit["radix"], choices) for digit in part["digits"]]
    return [2 if then["kind"] == "parity" else whole(then["values"], choices)]


def flatten(digits: Sequence[int], radices: Sequence[int]) -> int:
    """Mixed radix, last digit fastest."""
    flat = 0
    for digit, radix in zip(digits, radices, strict=True):
        flat = flat * radix + digit
    return flat


def largest_radices(part: Json) -> list[int]:
    """The largest values of the radices over all choices."""
    then = part.get("then")
    radices = [digit["radix"] for digit in part["digits"]]
    if then is not None:
        radices = [2 if then["kind"] == "parity" else then["values"]]
    return [max(r["values"]) if isinstance(r, dict) else int(r) for r in radices]


def columns_of(part: Json) -> int:
    """Answer columns of a part."""
    if part["response"]["kind"] == "bits":
        return -(-math.prod(largest_radices(part)) // 32)
    return 1 + int(part.get("fakes", 0))


def respond(
    plan: Json,
    part: Json,
    codes: Sequence[int],
    choices: Sequence[int],
    coins: Sequence[int],
    words: Sequence[int],
) -> tuple[list[int], int]:
    """The answer columns of a part, and how many words it took."""
    response, fakes = part["response"], int(part.get("fakes", 0))
    symbol = symbol_of(plan, part, codes, choices, coins)
    radices = radices_of(part, choices)
    flat, size, kind = flatten(symbol, radices), math.prod(radices), response["kind"]
    if kind == "keep":
        return sorted([flat, *(word * size >> 64 for word in words[:fakes])]), fakes
    if kind == "bits":
        own, other = ([int(t) for t in response[key]] for key in ("own", "other"))
        count = math.prod(largest_radices(part))
        columns = [0] * -(-count // 32)
        for bit in range(size):
            limits = own if bit == flat else other
            if words[bit] < limits[bit % len(limits)]:
                columns[bit // 32] |= 1 << bit % 32
        return columns, count
    word = words[0]
    if kind in ("rows", "staircase"):
        row = staircase_row(response, flat) if kind == "staircase" else response["rows"][flat]
        answer, end = 0, int(row[0])
        while word >= end:
            answer += 1
            end += int(row[answer])
        return [answer], 1
    if kind == "ladder":
        return [flatten(climb(response, symbol, word), radices)], 1
    offset = subset_offset(response, int(plan["odds"][response["odds"]]), radices, choices, word)
    turned = [(d - o) % r for d, o, r in zip(symbol, offset, radices, strict=True)]
    return [flatten(turned, radices)], 1


def staircase_row(response: Json, symbol: int) -> list[int]:
    """The row of words of a symbol."""
    weights = [int(weight) for weight in response["weights"]]
    favoured = [weight * int(response["favour"]) >> 64 for weight in weights]
    is_favoured = [bits[symbol // 32] >> symbol % 32 & 1 for bits in response["favoured"]]
    row = [f if yes else w for f, yes, w in zip(favoured, is_favoured, weights, strict=True)]
    left = ALL - sum(row)
    for place, yes in enumerate(is_favoured):
        if not yes:
            more = max(min(left, favoured[place] - row[place]), 0)
            row[place], left = row[place] + more, left - more
    return row


def climb(response: Json, symbol: Sequence[int], word: int) -> list[int]:
    """The digits after one word of a ladder."""
    held = response["held"]
    kind = sum(1 << j for j, (d, h) in enumerate(zip(symbol, held, strict=True)) if d < h)
    ladder, start = response["rungs"][kind], 0
    for number, rung in enumerate(ladder):
        width, drawn = int(rung["width"]), rung.get("drawn", [])
        points = math.prod(held[j] for j in drawn) if width else 0
        if number == len(ladder) - 1 or word < start + width * points:
            index = min((word - start) // max(width, 1), max(points, 1) - 1)
            digits = list(symbol)
            for j in sorted(drawn, reverse=True) if points else ():
                digits[j], index = index % held[j], index // held[j]
            return digits
        start += width * points
    raise AssertionError("a ladder without rungs")


def subset_offset(
    response: Json, odds: int, radices: Sequence[int], choices: Sequence[int], word: int
) -> list[int]:
    """The offsets that a word means."""
    inside_points, outside_points = subset_points(response, radices, choices)
    base, size = len(inside_points), math.prod(radices)
    if base == size:
        return inside_points[min(word // (ALL // base), base - 1)]
    first = ALL * ALL // (base * odds + (size - base) * ALL)
    inside = first * odds // ALL
    outside = (ALL - base * inside) // (size - base)
    if word < base * inside:
        return inside_points[word // inside]
    return outside_points[min((word - base * inside) // outside, size - base - 1)]


def subset_points(
    response: Json, radices: Sequence[int], choices: Sequence[int]
) -> tuple[list[list[int]], list[list[int]]]:
    """All offsets inside the base set, and all outside, in their order."""
    everything = [list(point) for point in product(*map(range, radices))]
    if response["kind"] == "arcs":
        counts = [whole(count, choices) for count in response["counts"]]

        def piece(point: list[int]) -> int:
            outside = [u >= count for u, count in zip(point, counts, strict=True)]
            return outside.index(True) if True in outside else -1

        inside = [point for point in everything if piece(point) < 0]
        outside = [point for point in everything if piece(point) >= 0]
        return inside, sorted(outside, key=lambda point: (piece(point), point))
    if response["kind"] == "comb":
        tooth, window, width = (whole(response[k], choices) for k in ("tooth", "window", "width"))
        (m,) = radices
        shared = math.gcd(tooth, m)

        def holds(point: list[int]) -> bool:
            place = tooth * (point[0] - window // 2) % m // shared
            return point[0] < window and (place + width // 2) % (m // shared) < width
    else:
        length, seed, flips = (whole(response[k], choices) for k in ("length", "seed", "flips"))
        *shape, circle = radices
        ranks = scrambled_ranks(shape, seed, flips)

        def holds(point: list[int]) -> bool:
            rank = ranks[tuple(point[:-1])]
            if circle == 1:
                return rank < length
            return (point[-1] + rank * circle // len(ranks)) % circle < length

    return [p for p in everything if holds(p)], [p for p in everything if not holds(p)]


def scrambled_ranks(shape: Sequence[int], seed: int, flips: int) -> dict[tuple[int, ...], int]:
    """The rank of every element."""
    elements = list(product(*map(range, shape)))

    def random(i: int) -> bytes:
        text = b"ldpsql scrambled" + seed.to_bytes(8, "big") + (i // 4).to_bytes(8, "big")
        return hashlib.sha256(text).digest()[8 * (i % 4) : 8 * (i % 4) + 8]

    order = sorted(range(len(elements)), key=lambda i: (random(i), i))
    ranks = {elements[i]: rank for rank, i in enumerate(order)}

    def reflected(element: tuple[int, ...]) -> tuple[int, ...]:
        places = enumerate(zip(element, shape, strict=True))
        return tuple(-c % r if flips >> j & 1 else c for j, (c, r) in places)

    return {element: ranks[reflected(element)] for element in elements}


def widths_of(plan: Json) -> list[int]:
    """Bits of every number of a report."""
    faces = plan["faces"]
    most_coins = max(len(face.get("coins", [])) for face in faces)
    columns = max(sum(columns_of(part) for part in face["parts"]) for face in faces)
    largest = [sum(map(questions_of, faces)), *[1] * (most_coins + columns)]
    for face in faces:
        for c, coin in enumerate(face.get("coins", [])):
            limit = max(coin["values"]) if isinstance(coin, dict) else int(coin)
            largest[1 + c] = max(largest[1 + c], limit)
        place = 1 + most_coins
        for part in face["parts"]:
            for number in range(columns_of(part)):
                limit = most_values(face, part)
                if part["response"]["kind"] == "bits":
                    limit = 1 << min(limit - 32 * number, 32)
                elif part["response"]["kind"] in ("rows", "staircase"):
                    response = part["response"]
                    limit = len(response.get("weights") or response["rows"][0])
                largest[place] = max(largest[place], limit)
                place += 1
    return [next(width for width in (8, 16, 32, 64) if limit <= 1 << width) for limit in largest]


def most_values(face: Json, part: Json) -> int:
    """The most values of a symbol over all choices."""
    steps = [range(len(step["mantissas"])) for step in face.get("steps", [])]
    return max(math.prod(radices_of(part, choices)) for choices in product(*steps))
