// A client of the local model: it randomises one record and sends a report. No dependencies.
//
// It runs in browsers and in Node 20 or later, and meets the test vectors of the Python client: the same
// campaign, record and random bytes give the same report. Everything that is drawn is drawn with whole
// numbers (BigInt) from Web Crypto's generator; doubles appear in the policy E(r) alone, as in Python.
//
//     import { Client, fetchCampaign, send } from "./prdp-client.mjs";
//     const client = new Client({ storage: localStorage });
//     const campaign = await fetchCampaign("https://study.example");
//     const report = await client.report(campaign, { visits: 4 });
//     await send("https://study.example", report, ticket);

const VERSION = 1n;
const MAGIC = [0x70, 0x72, 0x64, 0x70, 0x01]; // "prdp", version 1
const MOST_REPORT_BITS = 1 << 15;
const MOST_TEXT = 200;
const MOST_CHARACTERS = 1 << 24;
const PRIME = 2n ** 31n - 1n;
const SAFE = 2n ** 53n - 1n;

/** What a client refuses, by public facts alone: nothing was drawn. */
export class InvalidRequest extends Error {}

const refuse = (why) => {
  throw new InvalidRequest(why);
};

// ---------------------------------------------------------------------------------------------------------
// Whole numbers and fractions

const abs = (n) => (n < 0n ? -n : n);
const least = (a, b) => (a < b ? a : b);
const most = (a, b) => (a > b ? a : b);
const bitLength = (n) => (n === 0n ? 0 : n.toString(2).length);

const floorDivide = (a, b) => (a >= 0n || a % b === 0n ? a / b : a / b - 1n); // b > 0
const ceilDivide = (a, b) => -floorDivide(-a, b);

function greatestCommonDivisor(a, b) {
  while (b) [a, b] = [b, a % b];
  return a;
}

function wholeRoot(n) {
  if (n < 2n) return n;
  let guess = 1n << BigInt((bitLength(n) + 1) >> 1);
  for (;;) {
    const next = (guess + n / guess) >> 1n;
    if (next >= guess) return guess;
    guess = next;
  }
}

class Fraction {
  constructor(above, below = 1n) {
    if (below < 0n) [above, below] = [-above, -below];
    const common = greatestCommonDivisor(abs(above), below) || 1n;
    this.above = above / common;
    this.below = below / common;
  }

  plus(other) {
    return new Fraction(this.above * other.below + other.above * this.below, this.below * other.below);
  }

  minus(other) {
    return new Fraction(this.above * other.below - other.above * this.below, this.below * other.below);
  }

  times(other) {
    return new Fraction(this.above * other.above, this.below * other.below);
  }

  over(other) {
    return new Fraction(this.above * other.below, this.below * other.above);
  }

  compare(other) {
    const difference = this.above * other.below - other.above * this.below;
    return difference < 0n ? -1 : difference > 0n ? 1 : 0;
  }

  floor() {
    return floorDivide(this.above, this.below);
  }

  ceil() {
    return ceilDivide(this.above, this.below);
  }

  /** The nearest whole number, the even one of two. */
  round() {
    const twice = new Fraction(2n * this.above + this.below, 2n * this.below);
    const up = twice.floor();
    return twice.below === 1n && up % 2n !== 0n ? up - 1n : up;
  }

  /** The nearest double; numbers beyond 2^±1000 do not come here. */
  toDouble() {
    const sign = this.above < 0n ? -1 : 1;
    const above = abs(this.above);
    if (!above) return 0;
    const shift = 66 - bitLength(above) + bitLength(this.below);
    const scaled = shift >= 0 ? above << BigInt(shift) : above;
    const below = shift >= 0 ? this.below : this.below << BigInt(-shift);
    const quotient = (scaled / below) | (scaled % below ? 1n : 0n);
    return sign * Number(quotient) * 2 ** -shift;
  }

  static whole(n) {
    return new Fraction(BigInt(n));
  }

  static ofDouble(x) {
    const view = new DataView(new ArrayBuffer(8));
    view.setFloat64(0, x);
    const bits = view.getBigUint64(0);
    const exponent = Number((bits >> 52n) & 0x7ffn);
    const digits = bits & 0xfffffffffffffn;
    const mantissa = exponent ? digits | 0x10000000000000n : digits;
    const power = (exponent || 1) - 1075;
    const signed = bits >> 63n ? -mantissa : mantissa;
    return power >= 0 ? new Fraction(signed << BigInt(power)) : new Fraction(signed, 1n << BigInt(-power));
  }

  toString() {
    return this.below === 1n ? `${this.above}` : `${this.above}/${this.below}`;
  }
}

const ZERO = new Fraction(0n);
const ONE = new Fraction(1n);
const powerOfTwo = (n) => (n >= 0 ? new Fraction(1n << BigInt(n)) : new Fraction(1n, 1n << BigInt(-n)));

/** The largest double that is not above a number. */
function doubleBelow(value) {
  const nearest = value.toDouble();
  if (Fraction.ofDouble(nearest).compare(value) <= 0) return nearest;
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, nearest);
  view.setBigUint64(0, view.getBigUint64(0) - 1n);
  return view.getFloat64(0);
}

// ---------------------------------------------------------------------------------------------------------
// Exact coins: proofs/discrete_laplace.md, parts 1 and 2. `bounds(bits)` is [low, high] with
// low <= p * 2^bits <= high.

const shiftUp = (value, places) => -(-value >> BigInt(places));

function series(numerator, denominator, precision) {
  const yLow = numerator / denominator;
  const yHigh = yLow + 1n;
  const one = 1n << BigInt(precision);
  let [low, high, termLow, termHigh] = [one, one, one, one];
  for (let j = 1n; ; j += 1n) {
    termLow = ((termLow * yLow) / j) >> BigInt(precision);
    termHigh = shiftUp(ceilDivide(termHigh * yHigh, j), precision);
    if (j % 2n) [low, high] = [low - termHigh, high - termLow];
    else [low, high] = [low + termLow, high + termHigh];
    if (termHigh <= 1n) break;
  }
  return [low - 1n, least(high + 1n, one)];
}

/** Whole numbers low <= exp(-x) * 2^bits <= high, for a fraction x >= 0. */
export function expBounds(x, bits) {
  if (x.above === 0n) return [1n << BigInt(bits), 1n << BigInt(bits)];
  if (x.compare(Fraction.whole(bits)) >= 0) return [0n, 1n];
  const halvings = bitLength(x.floor()) + 8;
  const guard = halvings + bits.toString(2).length + 4;
  const precision = bits + guard;
  let [low, high] = series(x.above << BigInt(precision), x.below << BigInt(halvings), precision);
  for (let i = 0; i < halvings; i += 1) {
    low = (low * low) >> BigInt(precision);
    high = shiftUp(high * high, precision);
  }
  return [low >> BigInt(guard), shiftUp(high, guard)];
}

/** Whole numbers low <= 2^bits / (1 + exp(x)) <= high, for a fraction x >= 0. */
function logisticBounds(x, bits) {
  const precision = bits + 2;
  const one = 1n << BigInt(precision);
  const [low, high] = expBounds(x, precision);
  return [(low << BigInt(bits)) / (one + low), ceilDivide(high << BigInt(bits), one + high)];
}

const complement = (bounds) => (bits) => {
  const [low, high] = bounds(bits);
  return [(1n << BigInt(bits)) - high, (1n << BigInt(bits)) - low];
};

/** A coin that shows heads with exactly the probability that the bounds enclose. */
class Coin {
  constructor(bounds) {
    this.bounds = bounds;
    this.bytes = [];
  }

  /** One byte of the probability's binary expansion. */
  byte(place) {
    if (this.bytes[place] === undefined) {
      const places = place + 1;
      for (let slack = 16; ; slack *= 2) {
        const [low, high] = this.bounds(8 * places + slack);
        if (low >> BigInt(slack) === high >> BigInt(slack)) {
          const written = least(low >> BigInt(slack), (1n << BigInt(8 * places)) - 1n);
          this.bytes[place] = Number(written & 0xffn);
          break;
        }
      }
    }
    return this.bytes[place];
  }

  toss(entropy) {
    for (let place = 0; ; place += 1) {
      const [word] = entropy(1);
      const threshold = this.byte(place);
      if (word !== threshold) return word < threshold;
    }
  }
}

/** A whole number from 0 to limit - 1, each equally likely. */
function uniformBelow(limit, entropy) {
  const size = bitLength(limit - 1n);
  const count = Math.ceil(size / 8);
  for (;;) {
    let word = 0n;
    for (const byte of entropy(count)) word = (word << 8n) | BigInt(byte);
    word >>= BigInt(8 * count - size);
    if (word < limit) return word;
  }
}

// ---------------------------------------------------------------------------------------------------------
// What one coordinate is drawn from: proofs/local_bit.md, local_symbol.md, local_hashed.md, local_laplace.md

/** 1 with probability min(part + (1 - 2 part) q, e^lift q), q = 1/(1 + e^loss). */
class Bit {
  constructor(loss, part = ZERO, lift = null) {
    this.loss = loss;
    this.part = part;
    this.lift = lift === null || part.above === 0n || lift.compare(loss) > 0 ? loss : lift;
  }

  heads(bits) {
    const precise = bits + 8;
    const whole = 1n << BigInt(precise);
    const [low, high] = logisticBounds(this.loss, precise);
    const slope = ONE.minus(this.part.plus(this.part));
    const flipped = this.part.times(new Fraction(whole));
    let ends = [low, high].map((q) => flipped.plus(slope.times(new Fraction(q))));
    if (ends[0].compare(ends[1]) > 0) ends.reverse();
    if (this.lift.compare(this.loss) < 0) {
      const less = expBounds(this.loss.minus(this.lift), precise);
      const lifted = [new Fraction(less[0] * (whole - high), whole), new Fraction(less[1] * (whole - low), whole)];
      ends = ends.map((end, i) => (end.compare(lifted[i]) <= 0 ? end : lifted[i]));
    }
    return [
      floorDivide(ends[0].above, ends[0].below << 8n),
      ceilDivide(ends[1].above, ends[1].below << 8n),
    ];
  }

  draw(entropy) {
    if (!this.coin) {
      // The coin shows the rarer outcome: how long a toss takes must not tell what the record is.
      const rarer = this.heads(64)[1] < 1n << 63n;
      this.outcome = rarer ? 1n : 0n;
      const heads = (bits) => this.heads(bits);
      this.coin = new Coin(rarer ? heads : complement(heads));
    }
    return this.coin.toss(entropy) ? this.outcome : 1n - this.outcome;
  }

  get key() {
    return `bit ${this.loss} ${this.part} ${this.lift}`;
  }
}

/** One of `size` symbols: the own one with odds e^loss to 1 against each other; for null, any. */
class OneSymbol {
  constructor(own, size, loss) {
    Object.assign(this, { own, size, loss });
    this.coin = new Coin(complement((bits) => this.kept(bits)));
  }

  kept(bits) {
    const whole = 1n << BigInt(bits);
    const [low, high] = expBounds(this.loss, bits);
    const others = this.size - 1n;
    return [(whole * whole) / (whole + others * high), ceilDivide(whole * whole, whole + others * low)];
  }

  draw(entropy) {
    if (this.own === null || this.size === 1n) return uniformBelow(this.size, entropy);
    if (!this.coin.toss(entropy)) return this.own;
    const other = uniformBelow(this.size - 1n, entropy);
    return other + (other >= this.own ? 1n : 0n);
  }

  get key() {
    return `symbol ${this.own} ${this.size} ${this.loss}`;
  }
}

/** A random hash function and the own category's bucket under it. */
class Hashed {
  constructor(own, buckets, loss) {
    Object.assign(this, { own, buckets, loss });
  }

  draw(entropy) {
    const drawn = uniformBelow((PRIME - 1n) * PRIME, entropy);
    const [multiplier, offset] = [drawn / PRIME, drawn % PRIME];
    const own = this.own === null ? null : (((multiplier + 1n) * this.own + offset) % PRIME) % this.buckets;
    return drawn * this.buckets + new OneSymbol(own, this.buckets, this.loss).draw(entropy);
  }

  get key() {
    return `hashed ${this.own} ${this.buckets} ${this.loss}`;
  }
}

const digitCount = (scale) => bitLength(scale.times(Fraction.whole(89)).ceil() - 1n);

/** A whole number in discrete Laplace noise. */
class NoisyValue {
  constructor(value, scale) {
    Object.assign(this, { value, scale });
  }

  draw(entropy) {
    const step = ONE.over(this.scale);
    const digits = digitCount(this.scale);
    const far = step.times(powerOfTwo(digits));
    const toss = (bounds) => new Coin(bounds).toss(entropy);
    const nonzero = toss((bits) => logisticBounds(step, bits + 1));
    const negative = toss((bits) => logisticBounds(ZERO, bits));
    const above = toss((bits) => expBounds(far, bits));
    let magnitude = 1n;
    for (let place = 0; place < digits; place += 1) {
      const here = step.times(powerOfTwo(place));
      if (toss((bits) => logisticBounds(here, bits))) magnitude += 1n << BigInt(place);
    }
    if (above) {
      const onward = new Coin((bits) => expBounds(far, bits));
      let height = 1n;
      while (onward.toss(entropy)) height += 1n;
      magnitude += height << BigInt(digits);
    }
    return this.value + (nonzero ? (negative ? -magnitude : magnitude) : 0n);
  }

  get key() {
    return `noisy ${this.value} ${this.scale}`;
  }
}

// ---------------------------------------------------------------------------------------------------------
// JSON, read strictly: nothing said twice, whole numbers exactly, no half characters

export function parseStrict(text) {
  if (typeof text !== "string" || text.length > MOST_CHARACTERS) refuse("this is no campaign: it is too long.");
  let at = 0;
  const fail = () => refuse("this is no campaign: it is not a JSON object.");
  const skip = () => {
    while (" \t\n\r".includes(text[at]) && at < text.length) at += 1;
  };
  const word = (expected, value) => {
    if (text.slice(at, at + expected.length) !== expected) fail();
    at += expected.length;
    return value;
  };
  const string = () => {
    const found = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
    found.lastIndex = at;
    const match = found.exec(text);
    if (!match) fail();
    at = found.lastIndex;
    const value = JSON.parse(match[0]);
    if (hasHalf(value)) refuse("this is no campaign: a text has half of a character.");
    return value;
  };
  const number = () => {
    const found = /-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?/y;
    found.lastIndex = at;
    const match = found.exec(text);
    if (!match) fail();
    at = found.lastIndex;
    if (match[1] || match[2]) return Number(match[0]);
    if (match[0].length > 400) fail();
    return BigInt(match[0]);
  };
  const value = (depth) => {
    if (depth > 400) refuse("this is no campaign: its lists are nested too deeply.");
    skip();
    const mark = text[at];
    if (mark === '"') return string();
    if (mark === "t") return word("true", true);
    if (mark === "f") return word("false", false);
    if (mark === "n") return word("null", null);
    if (mark !== "[" && mark !== "{") return number();
    const close = mark === "[" ? "]" : "}";
    const items = [];
    const named = new Map();
    at += 1;
    skip();
    if (text[at] === close) at += 1;
    else {
      for (;;) {
        skip();
        if (mark === "{") {
          const name = string();
          if (named.has(name)) refuse(`this is no campaign: it says '${name.slice(0, MOST_TEXT)}' twice.`);
          skip();
          word(":");
          named.set(name, value(depth + 1));
        } else items.push(value(depth + 1));
        skip();
        if (text[at] === close) {
          at += 1;
          break;
        }
        word(",");
      }
    }
    return mark === "[" ? items : named;
  };
  const found = value(0);
  skip();
  if (at !== text.length || !(found instanceof Map)) fail();
  return found;
}

function hasHalf(text) {
  for (const character of text) {
    const code = character.codePointAt(0);
    if (code >= 0xd800 && code <= 0xdfff) return true;
  }
  return false;
}

/** Reads each fact once, and refuses what is missing, malformed or left over. */
class Facts {
  constructor(facts, what = "campaign") {
    if (!(facts instanceof Map)) refuse(`a campaign's ${what} is a JSON object.`);
    this.left = new Map(facts);
  }

  has(name) {
    return this.left.has(name);
  }

  take(name) {
    if (!this.left.has(name)) refuse(`a campaign does not say '${name}'.`);
    const found = this.left.get(name);
    this.left.delete(name);
    return found;
  }

  text(name) {
    const found = this.take(name);
    if (typeof found !== "string" || !found || [...found].length > MOST_TEXT) {
      refuse(`a campaign's '${name}' is a text of 1 to ${MOST_TEXT} characters.`);
    }
    return found;
  }

  word(name, known) {
    const found = this.take(name);
    if (!known.includes(found)) refuse(`a campaign's '${name}' is one of ${known.join(", ")}.`);
    return found;
  }

  whole(name) {
    const found = this.take(name);
    if (typeof found !== "bigint" || abs(found) > 10n ** 40n) refuse(`a campaign's '${name}' is a whole number.`);
    return found;
  }

  fraction(name) {
    return readFraction(this.text(name), name);
  }

  positive(name) {
    const found = this.fraction(name);
    if (found.above <= 0n || bitLength(found.above) + bitLength(found.below) > 650) {
      refuse(`a campaign's '${name}' is more than 0, and a simple number.`);
    }
    return found;
  }

  items(name) {
    const found = this.take(name);
    if (!Array.isArray(found)) refuse(`a campaign's '${name}' is a list.`);
    return found;
  }

  end() {
    for (const name of this.left.keys()) refuse(`a campaign says '${name.slice(0, MOST_TEXT)}', which is not known here.`);
  }
}

function readFraction(text, name) {
  const match = /^(-?(?:0|[1-9][0-9]*))(?:\/([1-9][0-9]*))?$/.exec(text);
  if (!match) refuse(`a campaign's '${name}' is a fraction such as '1/10'.`);
  return new Fraction(BigInt(match[1]), BigInt(match[2] ?? 1));
}

// ---------------------------------------------------------------------------------------------------------
// The policy: an expression tree, evaluated in doubles; unknown is null, and an unknown part makes the whole
// unknown

const ARITHMETIC = ["+", "-", "*", "/"];
const COMPARISONS = ["=", "<>", "<", "<=", ">", ">="];
const FUNCTIONS = {
  least: [2, 4000, (...numbers) => Math.min(...numbers)],
  greatest: [2, 4000, (...numbers) => Math.max(...numbers)],
  abs: [1, 1, Math.abs],
  sqrt: [1, 1, (x) => (x >= 0 ? Math.sqrt(x) : null)],
  ln: [1, 1, (x) => logarithm(Math.log, x)],
  log2: [1, 1, (x) => logarithm(Math.log2, x)],
  log10: [1, 1, (x) => logarithm(Math.log10, x)],
  exp: [1, 1, Math.exp],
  power: [2, 2, power],
};
const known = (x) => (Number.isNaN(x) ? null : x);
const logarithm = (log, x) => (x > 0 ? log(x) : x === 0 ? -Infinity : null);

function power(base, exponent) {
  if (base === 0) return exponent < 0 ? Infinity : exponent === 0 ? 1 : 0;
  if (base < 0 && !Number.isInteger(exponent)) return null;
  return base === 1 ? 1 : base ** exponent;
}

function divide(left, right) {
  if (right !== 0) return known(left / right);
  return left === 0 ? null : left > 0 ? Infinity : -Infinity;
}

const MEANING = {
  "+": (a, b) => known(a + b),
  "-": (a, b) => known(a - b),
  "*": (a, b) => known(a * b),
  "/": divide,
};

class Moment {
  constructor(micros) {
    this.micros = micros;
  }
}

function momentOf(text) {
  const match = /^(\d{4})-(\d\d)-(\d\d)(?:[ T](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,6}))?)?)?$/.exec(text);
  if (!match) return null;
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map((part) => Number(part ?? 0));
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  date.setUTCHours(hour, minute, second);
  const same = date.getUTCMonth() === month - 1 && date.getUTCDate() === day && year > 0;
  if (!same || hour > 23 || minute > 59 || second > 59) return null;
  return new Moment(BigInt(date.getTime()) * 1000n + BigInt((match[7] ?? "0").padEnd(6, "0")));
}

function readExpression(tree, counts = { nodes: 0, constants: 0 }, levels = 128) {
  const wrong = () => refuse("a part of the policy is not part of an expression in JSON form.");
  if (!levels || counts.nodes > 4000 || counts.constants > 5000) refuse("the expression is too large.");
  if (!Array.isArray(tree) || typeof tree[0] !== "string") wrong();
  const [name, ...rest] = tree;
  const inner = (part) => readExpression(part, counts, levels - 1);
  const constant = (value) => {
    counts.constants += 1;
    return { kind: "constant", value };
  };
  if (name === "number" && rest.length === 1 && ["number", "bigint"].includes(typeof rest[0])) {
    const value = Number(rest[0]);
    if (Number.isFinite(value)) return constant(value || 0);
  } else if (["text", "column"].includes(name) && rest.length === 1 && typeof rest[0] === "string") {
    if (!rest[0].includes("\0")) return name === "text" ? constant(rest[0]) : ((counts.nodes += 1), { kind: "column", name: rest[0] });
  } else if (name === "boolean" && rest.length === 1 && typeof rest[0] === "boolean") return constant(rest[0]);
  else if (name === "null" && !rest.length) return constant(null);
  else if (name === "moment" && rest.length === 1 && typeof rest[0] === "string") {
    const moment = momentOf(rest[0]);
    if (moment) return constant(moment);
  } else {
    counts.nodes += 1;
    if (name === "case" && rest.length === 2 && Array.isArray(rest[0]) && rest[0].length) {
      const branches = rest[0].map((pair) => (Array.isArray(pair) && pair.length === 2 ? pair.map(inner) : wrong()));
      return { kind: "case", branches, otherwise: inner(rest[1]) };
    }
    if (name === "call" && Object.hasOwn(FUNCTIONS, rest[0])) {
      const [fewest, mostParts] = FUNCTIONS[rest[0]];
      const parts = rest.slice(1).map(inner);
      if (parts.length >= fewest && parts.length <= mostParts) return { kind: "call", name: rest[0], parts };
    }
    if (name === "call" || name === "case") wrong();
    const parts = rest.map(inner);
    if (["negate", "not", "is null"].includes(name) && parts.length === 1) return { kind: name, parts };
    if (ARITHMETIC.includes(name) && parts.length === 2) return { kind: "arithmetic", name, parts };
    if (COMPARISONS.includes(name) && parts.length === 2) return { kind: "compare", name, parts };
    if (["and", "or"].includes(name) && parts.length >= 2) return { kind: name, parts };
    const constants = parts.slice(1).every((part) => part.kind === "constant" && part.value !== null);
    if (name === "in" && parts.length >= 2 && constants) return { kind: "in", parts };
  }
  return wrong();
}

function columnsOf(node) {
  if (node.kind === "column") return [node.name];
  if (node.kind === "case") return [...node.branches.flat(), node.otherwise].flatMap(columnsOf);
  return (node.parts ?? []).flatMap(columnsOf);
}

function valueOf(given) {
  if (given === null || given === undefined) return null;
  if (typeof given === "boolean" || typeof given === "string") return given;
  if (typeof given === "number") return known(given);
  if (typeof given === "bigint") return Number(given);
  if (given instanceof Date) return Number.isNaN(given.getTime()) ? null : new Moment(BigInt(given.getTime()) * 1000n);
  throw new TypeError("a record's value is a number, a text, a truth value, a Date or null");
}

const kindOf = (value) => (value instanceof Moment ? "moment" : typeof value);
const truth = (value) => (typeof value === "boolean" ? value : null);

/** Which of two values of one kind comes first; texts by code point. */
function order(a, b) {
  if (a instanceof Moment) [a, b] = [a.micros, b.micros];
  if (typeof a === "string") {
    const [one, other] = [[...a], [...b]].map((text) => text.map((mark) => mark.codePointAt(0)));
    for (let i = 0; i < Math.min(one.length, other.length); i += 1) if (one[i] !== other[i]) return one[i] - other[i];
    return one.length - other.length;
  }
  return a < b ? -1 : a > b ? 1 : 0;
}

function compare(name, a, b) {
  const ordered = name === "=" || name === "<>" || typeof a !== "boolean";
  if (!ordered || kindOf(a) !== kindOf(b)) return null;
  const sign = order(a, b);
  return { "=": sign === 0, "<>": sign !== 0, "<": sign < 0, "<=": sign <= 0, ">": sign > 0, ">=": sign >= 0 }[name];
}

function evaluate(node, record) {
  const parts = () => node.parts.map((part) => evaluate(part, record));
  switch (node.kind) {
    case "constant":
      return node.value;
    case "column":
      if (!Object.hasOwn(record, node.name)) throw new TypeError("the record lacks a column");
      return valueOf(record[node.name]);
    case "and":
    case "or": {
      const values = parts().map(truth);
      const decisive = node.kind === "or";
      return values.includes(decisive) ? decisive : values.includes(null) ? null : !decisive;
    }
    case "not": {
      const holds = truth(evaluate(node.parts[0], record));
      return holds === null ? null : !holds;
    }
    case "is null":
      return evaluate(node.parts[0], record) === null;
    case "case":
      for (const [condition, value] of node.branches) {
        const holds = truth(evaluate(condition, record));
        if (holds === null) return null;
        if (holds) return evaluate(value, record);
      }
      return evaluate(node.otherwise, record);
    default:
      return strict(node, parts());
  }
}

/** What is unknown as soon as one operand is. */
function strict(node, operands) {
  if (node.kind === "in") {
    const [value] = operands;
    if (value === null) return null;
    const items = node.parts.slice(1).map((part) => part.value);
    const alike = items.filter((item) => kindOf(item) === kindOf(value));
    if (alike.some((item) => order(item, value) === 0)) return true;
    return alike.length === items.length ? false : null;
  }
  if (operands.includes(null)) return null;
  if (node.kind === "compare") return compare(node.name, ...operands);
  if (!operands.every((value) => typeof value === "number")) return null;
  if (node.kind === "negate") return -operands[0];
  return node.kind === "arithmetic" ? MEANING[node.name](...operands) : FUNCTIONS[node.name][2](...operands);
}

// ---------------------------------------------------------------------------------------------------------
// Budgets: rounded down to eight levels an octave (Lemma 5)

class Levels {
  constructor(atLeast, atMost) {
    const inRange = atLeast.compare(powerOfTwo(-500)) >= 0 && atMost.compare(powerOfTwo(500)) <= 0;
    const span = atMost.over(atLeast);
    if (!inRange || span.compare(ONE) < 0 || span.compare(powerOfTwo(256)) > 0) refuse("the policy's range is impossible.");
    Object.assign(this, { atLeast, atMost });
    this.quantum = atLeast.times(powerOfTwo(-20));
    this.least = atLeast.toDouble();
    const below = new Fraction(span.above ** 8n, span.below ** 8n).ceil() - 1n;
    this.top = Math.max(0, bitLength(below) - 1);
    this.domains = Math.floor(this.top / 8) + 1;
  }

  index(budget) {
    if (budget === null || Number.isNaN(budget) || budget < this.least) return null;
    const ratio = budget / this.least;
    if (ratio === Infinity) return this.top;
    return Math.min(this.top, Math.max(0, Math.floor(8 * Math.log2(ratio) - 1e-9)));
  }

  quanta(level) {
    const margin = (2n ** 30n - 1n) ** 8n;
    const places = level - 80;
    return wholeRoot(wholeRoot(wholeRoot(places >= 0 ? margin << BigInt(places) : margin >> BigInt(-places))));
  }

  domainQuanta(domain) {
    return this.quanta(8 * (domain - 1));
  }

  domain(quanta) {
    let found = 0;
    while (found < this.domains && this.domainQuanta(found + 1) <= quanta) found += 1;
    return Math.max(1, found);
  }
}

class Policy {
  constructor(facts) {
    const read = new Facts(facts, "policy");
    const [atLeast, atMost] = [read.positive("at_least"), read.positive("at_most")];
    this.expression = readExpression(read.take("expression"));
    read.end();
    this.levels = new Levels(atLeast, atMost);
    this.text = written(facts);
    this.columns = [...new Set(columnsOf(this.expression))];
  }

  budget(record) {
    const value = evaluate(this.expression, record);
    if (typeof value !== "number" || !(value > 0) || value < this.levels.least) return null;
    const tooMuch = value === Infinity || Fraction.ofDouble(value).compare(this.levels.atMost) > 0;
    return tooMuch ? doubleBelow(this.levels.atMost) : value;
  }
}

/** Facts as text, equal for equal facts; for comparing two policies. */
function written(value) {
  if (value instanceof Map) {
    return `{${[...value.keys()].sort().map((name) => `${JSON.stringify(name)}:${written(value.get(name))}`)}}`;
  }
  if (Array.isArray(value)) return `[${value.map(written)}]`;
  return typeof value === "string" ? JSON.stringify(value) : String(typeof value === "bigint" ? Number(value) : value);
}

// ---------------------------------------------------------------------------------------------------------
// A record's values: total functions, since no record may cause an error

/** A number exactly, an infinity as it is, and null for everything else. */
function numberOf(given) {
  if (typeof given === "bigint") return new Fraction(given);
  if (typeof given !== "number" || Number.isNaN(given)) return null;
  return Number.isFinite(given) ? Fraction.ofDouble(given) : given;
}

const field = (record, name) => (Object.hasOwn(record, name) ? record[name] : null);

class Measure {
  constructor(read) {
    this.column = read.text("column");
    this.unit = read.positive("unit");
    this.low = read.whole("low");
    this.high = read.whole("high");
    if (this.low > this.high) refuse("a campaign's 'low' is more than its 'high'.");
    this.smallest = this.low > 0n ? this.low : most(1n, -this.high);
    this.largest = [1n, abs(this.low), abs(this.high)].reduce(most);
  }

  steps(record) {
    const value = numberOf(field(record, this.column));
    if (value === null) return 0n;
    if (value === Infinity) return this.high;
    if (value === -Infinity) return this.low;
    return most(this.low, least(this.high, value.over(this.unit).round()));
  }
}

// ---------------------------------------------------------------------------------------------------------
// Protocols: what every report looks like (fields), and what a record's is drawn from (law)

const BIT = { low: 0n, bits: 1, last: 1n };
const below = (size) => ({ low: 0n, bits: bitLength(size - 1n), last: size - 1n });
const repeated = (count, item) => Array.from({ length: count }, () => item);
const octaveOf = (ratio) => Math.max(0, bitLength(ratio.ceil() - 1n));

function noisyField(scale, largest) {
  const bits = Math.max(digitCount(scale), bitLength(largest)) + 2;
  const low = -(1n << BigInt(bits - 1));
  return { low, bits, last: low + (1n << BigInt(bits)) - 1n };
}

class Terms {
  constructor(levels, share) {
    Object.assign(this, { levels, share });
  }

  loss(quanta) {
    return this.share.times(new Fraction(quanta)).times(this.levels.quantum);
  }

  domainLoss(domain) {
    return this.loss(this.levels.domainQuanta(domain));
  }
}

const ratioGrid = (terms, measure) => {
  const { levels } = terms;
  const slope = (octave) => new Fraction(measure.smallest << BigInt(octave)).over(levels.atMost);
  const octave = (size, quanta) => octaveOf(new Fraction(size).over(new Fraction(quanta).times(levels.quantum).times(slope(0))));
  const count = octave(measure.largest, levels.quanta(0)) + 1;
  const of = (own) => {
    const value = own ? measure.steps(own.record) : 0n;
    return [value, value ? octave(abs(value), own.quanta) : null];
  };
  return { slope, count, of };
};

const each = (count, law) => Array.from({ length: count }, (_, place) => law(place));

const PROTOCOLS = {
  "count by domain": (read) => {
    const column = read.has("column") ? read.text("column") : null;
    const noise = read.word("noise", ["bits", "laplace"]);
    const scale = (terms, domain) => ONE.over(terms.domainLoss(domain));
    return {
      column,
      fields: (terms) => each(terms.levels.domains, (i) => (noise === "bits" ? BIT : noisyField(scale(terms, i + 1), 1n))),
      law: (terms, own) => {
        const counts = own && (column === null || numberOf(field(own.record, column)) !== null);
        const here = counts ? terms.levels.domain(own.quanta) - 1 : null;
        return each(terms.levels.domains, (i) =>
          noise === "bits"
            ? new Bit(terms.domainLoss(i + 1), i === here ? ONE : ZERO)
            : new NoisyValue(i === here ? 1n : 0n, scale(terms, i + 1)),
        );
      },
    };
  },
  "count in proportion": (read) => {
    const budget = read.positive("budget");
    return {
      fields: () => [BIT],
      law: (terms, own) => {
        const loss = terms.share.times(budget);
        return [own ? new Bit(loss, ONE, terms.loss(own.quanta)) : new Bit(loss)];
      },
    };
  },
  "sum by ratio": (read) => {
    const measure = new Measure(read);
    const scales = (terms) => {
      const grid = ratioGrid(terms, measure);
      return each(grid.count, (octave) => grid.slope(octave).over(terms.share));
    };
    return {
      column: measure.column,
      fields: (terms) => scales(terms).map((scale) => noisyField(scale, measure.largest)),
      law: (terms, own) => {
        const [value, here] = ratioGrid(terms, measure).of(own);
        return scales(terms).map((scale, octave) => new NoisyValue(octave === here ? value : 0n, scale));
      },
    };
  },
  "mass by ratio": (read) => {
    const measure = new Measure(read);
    const loss = (terms) => {
      const largest = terms.share.times(terms.levels.atMost);
      return largest.compare(ONE) < 0 ? largest : ONE;
    };
    return {
      column: measure.column,
      fields: (terms) => repeated(ratioGrid(terms, measure).count, BIT),
      law: (terms, own) => {
        const grid = ratioGrid(terms, measure);
        const [, here] = grid.of(own);
        const nothing = new Bit(loss(terms));
        return each(grid.count, (i) => (i === here ? new Bit(loss(terms), ONE, terms.loss(own.quanta)) : nothing));
      },
    };
  },
  "sum in proportion": (read) => {
    const measure = new Measure(read);
    const slope = read.positive("slope");
    const scale = (terms) => slope.over(terms.share);
    return {
      column: measure.column,
      fields: (terms) => [noisyField(scale(terms), measure.largest)],
      law: (terms, own) => {
        let value = 0n;
        if (own) {
          const limit = slope.times(new Fraction(own.quanta)).times(terms.levels.quantum).floor();
          value = most(-limit, least(limit, measure.steps(own.record)));
        }
        return [new NoisyValue(value, scale(terms))];
      },
    };
  },
};

const LDP_PROTOCOLS = {
  "octaves of values": (read) => {
    const measure = new Measure(read);
    const count = octaveOf(new Fraction(measure.largest)) + 1;
    return {
      column: measure.column,
      fields: () => repeated(count, BIT),
      law: (budget, record) => {
        const size = record ? abs(measure.steps(record)) : 0n;
        const here = size ? octaveOf(new Fraction(size)) : null;
        return each(count, (i) => new Bit(budget, i === here ? ONE : ZERO));
      },
    };
  },
  "clipped sum": (read) => {
    const measure = new Measure(read);
    const limit = read.whole("limit");
    const form = read.word("form", ["bit", "laplace"]);
    if (limit < 1n || (form === "bit" && measure.low < 0n)) refuse("a clipped sum needs a limit of 1 or more.");
    const scale = (budget) => new Fraction(limit).over(budget);
    return {
      column: measure.column,
      fields: (budget) => [form === "bit" ? BIT : noisyField(scale(budget), limit)],
      law: (budget, record) => {
        const value = record ? measure.steps(record) : 0n;
        const cut = most(-limit, least(limit, value));
        return [form === "bit" ? new Bit(budget, new Fraction(cut, limit)) : new NoisyValue(cut, scale(budget))];
      },
    };
  },
  frequencies: (read) => {
    const column = read.text("column");
    const method = read.word("method", ["bits", "grr", "oue", "olh"]);
    const buckets = method === "olh" ? read.whole("buckets") : 0n;
    if (method === "olh" && (buckets < 2n || buckets > 1024n)) refuse("olh has 2 to 1024 buckets.");
    const [size, place] = read.has("edges") ? bins(read.items("edges")) : categories(read.items("categories"));
    if (["bits", "oue"].includes(method) && size > 1 << 13) refuse("a bit for each value would be too long.");
    const whole = BigInt(size);
    return {
      column,
      fields: () => {
        if (method === "grr") return [below(whole + 1n)];
        return method === "olh" ? [below((PRIME - 1n) * PRIME * buckets)] : repeated(size, BIT);
      },
      law: (budget, record) => {
        const here = record ? place(field(record, column)) : null;
        if (method === "olh") return [new Hashed(here === null ? null : BigInt(here), buckets, budget)];
        if (method === "grr") return [new OneSymbol(here === null ? whole : BigInt(here), whole + 1n, budget)];
        const own = new Bit(budget, method === "bits" ? ONE : new Fraction(1n, 2n));
        const nothing = new Bit(budget);
        return each(size, (i) => (i === here ? own : nothing));
      },
    };
  },
};

function categories(values) {
  const places = new Map(values.map((value, i) => [value, i]));
  const right = values.every((value) => typeof value === "string" || (typeof value === "bigint" && abs(value) <= 10n ** 40n));
  if (!right || !values.length || places.size !== values.length || values.length > 1 << 20) {
    refuse("categories are different texts or whole numbers.");
  }
  const place = (given) => {
    if (typeof given === "string") return places.get(given) ?? null;
    const value = numberOf(given);
    return value instanceof Fraction && value.below === 1n ? places.get(value.above) ?? null : null;
  };
  return [values.length, place];
}

function bins(texts) {
  if (texts.length < 2 || texts.length > 1 << 20) refuse("edges are two or more ascending numbers.");
  const edges = texts.map((text) => {
    if (typeof text === "bigint") return new Fraction(text);
    return typeof text === "string" && text.length <= MOST_TEXT ? readFraction(text, "edges") : refuse("edges are numbers.");
  });
  const far = new Fraction(10n ** 300n);
  const ascending = edges.every((edge, i) => i === 0 || edges[i - 1].compare(edge) < 0);
  const near = edges.every((edge) => new Fraction(abs(edge.above), edge.below).compare(far) <= 0);
  if (!ascending || !near) refuse("edges are two or more ascending numbers.");
  const place = (given) => {
    const value = numberOf(given);
    if (!(value instanceof Fraction)) return null;
    if (value.compare(edges[0]) < 0 || value.compare(edges.at(-1)) > 0) return null;
    let [low, high] = [0, edges.length - 1]; // the last edge that is not above the value
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (edges[middle].compare(value) <= 0) low = middle;
      else high = middle - 1;
    }
    return Math.min(edges.length - 2, low);
  };
  return [edges.length - 1, place];
}

function readProtocol(facts, levels) {
  const read = new Facts(facts, "protocol");
  const kind = read.take("kind");
  let protocol = null;
  if (kind === "framework") {
    const domain = Number(read.whole("domain"));
    const inside = new Facts(read.take("inner"), "protocol");
    const inner = inside.take("kind");
    if (!Object.hasOwn(LDP_PROTOCOLS, inner) || domain < 1 || domain > levels.domains) refuse("this framework is not known.");
    const held = LDP_PROTOCOLS[inner](inside);
    inside.end();
    const takesPart = (own) => own && own.quanta >= levels.domainQuanta(domain);
    protocol = {
      column: held.column,
      domain,
      fields: (terms) => held.fields(terms.domainLoss(domain)),
      law: (terms, own) => held.law(terms.domainLoss(domain), takesPart(own) ? own.record : null),
    };
  } else if (Object.hasOwn(PROTOCOLS, kind)) protocol = PROTOCOLS[kind](read);
  else refuse("this protocol is not known.");
  read.end();
  return protocol;
}

// ---------------------------------------------------------------------------------------------------------
// Campaigns and reports

const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
const unhex = (text) => Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));

function webCrypto() {
  if (!globalThis.crypto?.subtle) throw new Error("Web Crypto is missing: open this page by https, or on localhost.");
  return globalThis.crypto;
}

/** The public terms of one round; `digest` is the SHA-256 of the very text. */
export class Campaign {
  static async read(text) {
    const campaign = new Campaign();
    const read = new Facts(parseStrict(text));
    if (read.take("prdp") !== "campaign" || read.whole("version") !== VERSION) refuse("this is no campaign of version 1.");
    campaign.text = text;
    campaign.name = read.text("name");
    campaign.round = Number(read.whole("round"));
    campaign.share = read.fraction("share");
    const whole = campaign.share.compare(ZERO) > 0 && campaign.share.compare(ONE) <= 0;
    if (!whole || campaign.share.below > 10n ** 12n) refuse("a share is more than 0 and at most 1.");
    if (campaign.round < 1) refuse("a campaign's round is 1, 2, ...");
    campaign.policy = new Policy(read.take("policy"));
    campaign.terms = new Terms(campaign.policy.levels, campaign.share);
    campaign.protocol = readProtocol(read.take("protocol"), campaign.policy.levels);
    read.end();
    campaign.fields = campaign.protocol.fields(campaign.terms);
    const size = campaign.fields.reduce((sum, each_) => sum + each_.bits, 0);
    if (size > MOST_REPORT_BITS) refuse("every report to this campaign would be too long.");
    campaign.payloadSize = Math.ceil(size / 8);
    const named = campaign.protocol.column ? [campaign.protocol.column] : [];
    campaign.columns = [...new Set([...campaign.policy.columns, ...named])].sort();
    campaign.digest = new Uint8Array(await webCrypto().subtle.digest("SHA-256", new TextEncoder().encode(text)));
    return campaign;
  }

  /** A record with its budget rounded down to a level; null where it has no valid one. */
  own(record) {
    if (record === null || typeof record !== "object") return null;
    try {
      const level = this.policy.levels.index(this.policy.budget(record));
      return level === null ? null : { record, quanta: this.policy.levels.quanta(level) };
    } catch {
      return null; // a missing column, a value of a strange type: no budget, and no message
    }
  }

  /** What a record's report is drawn from: the dummy's laws where anything about it is odd. */
  laws(record) {
    const own = this.own(record);
    if (own) {
      try {
        return this.protocol.law(this.terms, own);
      } catch {
        // whatever a record makes a protocol do, nobody may see it
      }
    }
    return this.protocol.law(this.terms, null);
  }

  /** Tell the record's owner what a report would be made of; nothing is drawn. For the owner's eyes only. */
  check(record) {
    const own = this.own(record);
    const [mine, dummy] = [this.laws(record), this.laws(null)].map((laws) => laws.map((law) => law.key).join("|"));
    return {
      missing: this.columns.filter((name) => !Object.hasOwn(record ?? {}, name)),
      budget: own ? new Fraction(own.quanta).times(this.policy.levels.quantum).toDouble() : null,
      loss: own ? this.terms.loss(own.quanta).toDouble() : null,
      saysSomething: mine !== dummy,
    };
  }

  /** Draw a report. `Client.report` keeps account of it; this does not. */
  draw(record, entropy = systemEntropy) {
    const outcomes = this.laws(record).map((law) => law.draw(entropy));
    return new Report(this.digest, null, packed(outcomes, this.fields)).withToken(entropy(16));
  }
}

/** The system's generator, by Web Crypto. */
export const systemEntropy = (count) => webCrypto().getRandomValues(new Uint8Array(count));

/** Outcomes as bytes; each one that its field cannot hold is moved to the nearest that it can. */
function packed(outcomes, fields) {
  let digits = "";
  outcomes.forEach((outcome, i) => {
    const { low, bits, last } = fields[i];
    const placed = most(low, least(last, outcome)) - low;
    if (bits) digits += placed.toString(2).padStart(bits, "0");
  });
  const size = Math.ceil(digits.length / 8);
  const padded = digits.padStart(8 * size, "0");
  return Uint8Array.from({ length: size }, (_, i) => parseInt(padded.slice(8 * i, 8 * i + 8), 2));
}

function unpacked(payload, fields) {
  let digits = Array.from(payload, (byte) => byte.toString(2).padStart(8, "0")).join("");
  digits = digits.slice(digits.length - fields.reduce((sum, { bits }) => sum + bits, 0));
  let at = 0;
  return fields.map(({ low, bits }) => {
    const part = digits.slice(at, at + bits);
    at += bits;
    return low + (part ? BigInt(`0b${part}`) : 0n);
  });
}

/** What a client sends; it may be seen by anybody. */
export class Report {
  constructor(campaign, token, payload) {
    Object.assign(this, { campaign, token, payload });
  }

  withToken(token) {
    return new Report(this.campaign, token, this.payload);
  }

  /** The compact form: head, digest, token and coordinates. */
  bytes() {
    return Uint8Array.from([...MAGIC, ...this.campaign, ...this.token, ...this.payload]);
  }

  static ofBytes(bytes) {
    return new Report(bytes.slice(5, 37), bytes.slice(37, 53), bytes.slice(53));
  }

  outcomes(campaign) {
    return unpacked(this.payload, campaign.fields);
  }

  /** The form for people, as one line of JSON. */
  json(campaign) {
    const outcomes = this.outcomes(campaign).map((outcome) => (abs(outcome) <= SAFE ? `${outcome}` : `"${outcome}"`));
    const head = `{"prdp":"report","version":1,"campaign":"${hex(this.campaign)}","token":"${hex(this.token)}"`;
    return `${head},"outcomes":[${outcomes}]}`;
  }
}

// ---------------------------------------------------------------------------------------------------------
// The client and its account

/** Where an account is kept that ends with the page or the process. */
export class Memory {
  kept = new Map();

  getItem(name) {
    return this.kept.get(name) ?? null;
  }

  setItem(name, value) {
    this.kept.set(name, value);
  }
}

/** Read a stored account; refuse a damaged one, which could give budget back. */
function readAccount(text) {
  let account = null;
  try {
    account = JSON.parse(text);
  } catch {
    // refused below, without the parser's words: they repeat the text
  }
  const { policy, spent, reports } = account ?? {};
  const kept = reports && typeof reports === "object" ? Object.values(reports) : [null];
  const stored = (report) => typeof report === "string" && /^(?:[0-9a-f]{2})+$/.test(report);
  const share = typeof spent === "string" && /^[0-9]+(?:\/[1-9][0-9]*)?$/.test(spent) ? readFraction(spent, "spent") : null;
  const answered = typeof policy === "string" && kept.length > 0 && share?.compare(ZERO) > 0;
  const empty = policy === null && kept.length === 0 && share?.above === 0n;
  if (!(answered || empty) || !kept.every(stored) || share.compare(ONE) > 0) {
    refuse("the account is damaged, and its reports are not known. Nothing was reported.");
  }
  return account;
}

/**
 * Answers campaigns for one record, and keeps account of it.
 *
 * The report and its charge are stored before the report is handed out. The same campaign again gets the same
 * bytes. All campaigns have one policy, and their shares add up to at most 1.
 */
export class Client {
  /**
   * @param {object} options
   * @param {Storage} options.storage Where the account is kept: localStorage, or anything with getItem and setItem.
   * @param {string} options.name What the account is called there; one record, one account.
   * @param {string} options.mostShare The largest share that one campaign may ask for.
   * @param {Function} options.entropy For tests; the system's generator otherwise.
   */
  constructor({ storage = new Memory(), name = "prdp account", mostShare = "1", entropy = systemEntropy } = {}) {
    Object.assign(this, { storage, name, entropy });
    this.mostShare = readFraction(mostShare, "mostShare");
  }

  #account() {
    const kept = this.storage.getItem(this.name);
    return kept === null ? { policy: null, spent: "0", reports: {} } : readAccount(kept);
  }

  /** The part of the record's budget that no campaign has used. */
  get left() {
    return ONE.minus(readFraction(this.#account().spent, "spent")).toString();
  }

  /** Return the report to send: drawn and stored the first time, the stored one ever after. */
  async report(campaign, record) {
    const work = () => this.#storedReport(campaign, record);
    return globalThis.navigator?.locks ? navigator.locks.request(this.name, work) : work();
  }

  #storedReport(campaign, record) {
    const account = this.#account();
    const digest = hex(campaign.digest);
    const standing = account.reports[digest];
    if (standing) return Report.ofBytes(unhex(standing));
    if (account.policy !== null && account.policy !== campaign.policy.text) {
      refuse("this campaign has another policy than the one that this client answers under. Nothing was reported.");
    }
    if (campaign.share.compare(this.mostShare) > 0) {
      refuse(`this campaign asks for ${campaign.share} of the budget, and this client gives at most ${this.mostShare}.`);
    }
    const spent = readFraction(account.spent, "spent").plus(campaign.share);
    if (spent.compare(ONE) > 0) refuse("this campaign asks for more of the budget than is left. Nothing was reported.");
    if (spent.below >= 10n ** 640n) refuse("this campaign's share is too fine to be added up. Nothing was reported.");
    const report = campaign.draw(record, this.entropy);
    const reports = { ...account.reports, [digest]: hex(report.bytes()) };
    this.storage.setItem(this.name, JSON.stringify({ policy: campaign.policy.text, spent: spent.toString(), reports }));
    return report;
  }
}

// ---------------------------------------------------------------------------------------------------------
// To and from a collector

// A collector that falls silent, or goes on for ever, costs one attempt and no more. Redirects are refused: a
// ticket and a report go to the collector that the caller named, and to nobody else.

const TIMEOUT = 30_000;
const MOST_MESSAGE = 1_000;
const MOST_ANSWER_BYTES = 4 * MOST_CHARACTERS;

/** Refuse an address that is none, without repeating it: it may hold a password. A page's own may be relative. */
function refuseUnlessAddress(address) {
  let read = null;
  try {
    read = new URL(address, globalThis.location?.href);
  } catch {
    // refused below
  }
  if (!["http:", "https:"].includes(read?.protocol) || read.search || read.hash) {
    refuse("this is no collector's address: write https://study.example.");
  }
  if (read.username || read.password) refuse("a collector's address holds no user and no password: others could see them.");
}

/** Ask a collector, and return its answer with the whole text. */
async function ask(fetch, address, timeout, options) {
  const signal = AbortSignal.timeout(timeout);
  const answer = await fetch(address, { ...options, redirect: "error", credentials: "omit", signal });
  const reader = answer.body?.getReader();
  const decoder = new TextDecoder();
  let [text, size] = ["", 0];
  while (reader) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    if (size > MOST_ANSWER_BYTES) {
      await reader.cancel();
      throw new Error("the collector's answer is too long.");
    }
    text += decoder.decode(value, { stream: true });
  }
  return [answer, text + decoder.decode()];
}

/** Return the campaign of the round that is open; `timeout` is in milliseconds. */
export async function fetchCampaign(url, { fetch = globalThis.fetch, timeout = TIMEOUT } = {}) {
  const address = `${url}/v1/campaign`;
  refuseUnlessAddress(address);
  const [answer, text] = await ask(fetch, address, timeout, { cache: "no-store" });
  if (!answer.ok) throw new Error(messageOf(text));
  return Campaign.read(text);
}

const messageOf = (text) => {
  try {
    const { message } = JSON.parse(text);
    if (typeof message === "string") return message.slice(0, MOST_MESSAGE);
  } catch {
    // no answer of a collector's
  }
  return "the collector does not answer as one.";
};

/** Read an acknowledgement; anything else is none. */
function acknowledged(text) {
  const { counted, again } = JSON.parse(text) ?? {};
  if (counted !== true || typeof again !== "boolean") throw new Error("this is no acknowledgement.");
  return { counted, again };
}

/**
 * Send a report until it is acknowledged: the same bytes again after a failure that may pass.
 *
 * @param {object} options
 * @param {number} options.tries How often to send at most.
 * @param {number} options.pause Milliseconds before the second attempt; twice as many before each further one.
 * @param {number} options.timeout Milliseconds that one attempt may take, from request to the answer's last byte.
 * @returns {Promise<{counted: boolean, again: boolean}>}
 */
export async function send(
  url,
  report,
  ticket,
  { fetch = globalThis.fetch, tries = 8, pause = 250, timeout = TIMEOUT } = {},
) {
  const address = `${url}/v1/reports`;
  refuseUnlessAddress(address);
  if (!/^[\x21-\x7e]+$/.test(ticket)) refuse("this is no ticket: it has letters, digits and signs of ASCII alone.");
  const headers = { authorization: `Bearer ${ticket}`, "content-type": "application/vnd.prdp.report" };
  let why = null;
  for (let attempt = 0; attempt < tries; attempt += 1) {
    if (attempt) await new Promise((wake) => setTimeout(wake, pause * 2 ** (attempt - 1)));
    let [answer, text] = [null, ""];
    try {
      [answer, text] = await ask(fetch, address, timeout, { method: "POST", headers, body: report.bytes() });
      if (answer.ok) return acknowledged(text);
    } catch (error) {
      why = error; // nobody there, silence, or an answer that was cut off
      continue;
    }
    why = new Error(messageOf(text));
    if (![408, 429, 500, 502, 503, 504].includes(answer.status)) throw why;
  }
  throw why;
}

export { Fraction, hex, unhex };
