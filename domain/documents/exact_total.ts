import type { ColumnType } from "./columns.ts";

/** A row below a table or group: the total of each column that asks for it. Nulls do not count. */
export type Total = "sum" | "count" | "average" | "min" | "max";

const PLAIN_NUMBER = /^-?\d+(?:\.\d+)?$/;
const ANY_NUMBER = /^(-?)(\d*)(?:\.(\d*))?(?:e([+-]?\d+))?$/i;
/** Numbers of up to this many digits are added as doubles, which stay exact up to SMALL_LIMIT. */
const SMALL_DIGITS = 12;
const SMALL_LIMIT = 2 ** 52;
const AVERAGE_SCALE = 2;
/** Largest exponent that is converted to digits; doubles go up to 1e308. A larger number counts as NaN. */
const MAX_EXPONENT = 400;

/** The sum of decimal numbers given as text, without rounding. */
export class ExactSum {
  count = 0;
  #units = 0n;
  /** The sum of small numbers that are not yet in #units. It saves most additions of big integers. */
  #small = 0;
  #scale = 0;
  /** NaN or an infinity, once one was added. */
  #special = 0;

  /** Digits after the point. */
  get scale(): number {
    return this.#scale;
  }

  add(text: string): void {
    this.count++;
    const plain = PLAIN_NUMBER.test(text) ? text : plainDigits(text);
    if (plain === null) {
      this.#special += text === "Infinity" ? Infinity : text === "-Infinity" ? -Infinity : NaN;
      return;
    }
    const point = plain.indexOf(".");
    const scale = point < 0 ? 0 : plain.length - point - 1;
    if (scale > this.#scale) this.#rescale(scale);
    if (plain.length <= SMALL_DIGITS && scale === this.#scale) {
      this.#small += point < 0 ? Number(plain) : Number(plain.slice(0, point) + plain.slice(point + 1));
      if (Math.abs(this.#small) > SMALL_LIMIT) this.#fold();
    } else this.#units += unitsOf(plain, this.#scale);
  }

  /** The sum as text, such as `-12.50`. */
  sum(): string {
    if (this.#special !== 0) return String(this.#special);
    this.#fold();
    return decimalText(this.#units, this.#scale);
  }

  /** The average, rounded half away from zero to the digits of its numbers, but at least two; null without numbers. */
  average(): string | null {
    if (this.count === 0) return null;
    if (this.#special !== 0) return String(this.#special);
    this.#fold();
    const scale = Math.max(this.#scale, AVERAGE_SCALE);
    const units = this.#units * 10n ** BigInt(scale - this.#scale);
    const count = BigInt(this.count);
    const half = units < 0n ? -count : count;
    return decimalText((2n * units + half) / (2n * count), scale);
  }

  #fold(): void {
    this.#units += BigInt(this.#small);
    this.#small = 0;
  }

  #rescale(scale: number): void {
    this.#fold();
    this.#units *= 10n ** BigInt(scale - this.#scale);
    this.#scale = scale;
  }
}

/** A number with an exponent (`1e+20`, as Postgres prints doubles) as plain digits; null if it is no finite number. */
function plainDigits(text: string): string | null {
  const [matched, sign = "", whole = "", fraction = "", exponent = "0"] = ANY_NUMBER.exec(text) ?? [];
  const shift = Number(exponent);
  if (matched === undefined || whole + fraction === "" || Math.abs(shift) > MAX_EXPONENT) return null;
  const digits = whole + fraction;
  const point = whole.length + shift;
  if (point <= 0) return `${sign}0.${"0".repeat(-point)}${digits}`;
  if (point >= digits.length) return sign + digits + "0".repeat(point - digits.length);
  return `${sign}${digits.slice(0, point)}.${digits.slice(point)}`;
}

function unitsOf(plain: string, scale: number): bigint {
  const [whole = "", fraction = ""] = plain.split(".");
  return BigInt(whole + fraction.padEnd(scale, "0"));
}

function decimalText(units: bigint, scale: number): string {
  if (scale === 0) return String(units);
  const digits = String(units < 0n ? -units : units).padStart(scale + 1, "0");
  return `${units < 0n ? "-" : ""}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}

/** Collects one total of a column. */
export class ColumnTotal {
  #sum: ExactSum | null;
  #count = 0;
  #best: string | null = null;
  #bestKey: number | string = 0;

  constructor(readonly total: Total, private readonly type: ColumnType) {
    this.#sum = total === "sum" || total === "average" ? new ExactSum() : null;
  }

  add(cell: string | null): void {
    if (cell === null) return;
    if (this.#sum) this.#sum.add(cell);
    else if (this.total === "count") this.#count++;
    else this.#compare(cell);
  }

  /** As a cell of a row: text of the column's type, or digits for a count; null if there was no value. */
  text(): string | null {
    if (this.total === "count") return String(this.#count);
    if (!this.#sum) return this.#best;
    if (this.#sum.count === 0) return null;
    return this.total === "sum" ? this.#sum.sum() : this.#sum.average();
  }

  #compare(cell: string): void {
    const key = sortKey(cell, this.type);
    const isBetter = this.#best === null ||
      (this.total === "min" ? key < this.#bestKey : key > this.#bestKey);
    if (!isBetter && !(key === this.#bestKey && this.#isExactlyBetter(cell))) return;
    this.#best = cell;
    this.#bestKey = key;
  }

  /** Compares two numbers that are equal as doubles exactly, as big integers of one scale. */
  #isExactlyBetter(cell: string): boolean {
    const best = this.#best ?? "";
    if (cell === best || !PLAIN_NUMBER.test(cell) || !PLAIN_NUMBER.test(best)) return false;
    const scale = Math.max(...[cell, best].map((text) => (text.split(".")[1] ?? "").length));
    const difference = unitsOf(cell, scale) - unitsOf(best, scale);
    return this.total === "min" ? difference < 0n : difference > 0n;
  }
}

/** Orders cells as Postgres does: NaN is the largest number; years BC come before all others. */
function sortKey(cell: string, type: ColumnType): number | string {
  if (type === "integer" || type === "decimal") {
    const value = Number(cell);
    return Number.isNaN(value) ? Infinity : value;
  }
  if (cell === "infinity") return "~";
  if (cell === "-infinity") return "";
  const years = cell.indexOf("-");
  return cell.endsWith("BC") ? "!" : cell.padStart(cell.length + 6 - years, "0");
}
