/** Pseudo-random numbers: the same seed gives the same numbers (sfc32). */
export class Random {
  #a: number;
  #b: number;
  #c: number;
  #d = 1;

  constructor(seed: number, stream = 0) {
    this.#a = seed | 0;
    this.#b = Math.imul(seed, 0x9e37_79b9) ^ stream;
    this.#c = Math.imul(stream + 1, 0x85eb_ca6b);
    for (let n = 0; n < 15; n++) this.bits();
  }

  /** The next 32 bits. */
  bits(): number {
    const t = (this.#a + this.#b + this.#d) | 0;
    this.#d = (this.#d + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) + t | 0;
    return t >>> 0;
  }

  /** At least 0, less than 1. */
  fraction(): number {
    return this.bits() / 2 ** 32;
  }

  /** A whole number from `min` to `max`. */
  between(min: number, max: number): number {
    return min + Math.floor(this.fraction() * (max - min + 1));
  }

  chance(probability: number): boolean {
    return this.fraction() < probability;
  }

  pick<T>(items: readonly T[]): T {
    return items[Math.floor(this.fraction() * items.length)] as T;
  }
}
