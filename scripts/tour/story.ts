// deno-lint-ignore-file no-explicit-any -- the tour looks into answers of every shape
import assert from "node:assert/strict";

const PATIENCE_MS = 60_000;

/** Speaks HTTP as one caller of the service. */
export class Visitor {
  constructor(readonly baseUrl: string, readonly token: string | null = null) {}

  async send(
    method: string,
    path: string,
    body?: unknown,
  ): Promise<{ status: number; headers: Headers; body: any }> {
    const response = await fetch(this.baseUrl + path, {
      method,
      headers: {
        ...(this.token ? { authorization: `Bearer ${this.token}` } : {}),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    const isJson = response.headers.get("content-type")?.includes("json") && text !== "";
    return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
  }

  /** Sends and insists on the status; returns the body. */
  async expect(status: number, method: string, path: string, body?: unknown): Promise<any> {
    const answer = await this.send(method, path, body);
    assert.equal(
      answer.status,
      status,
      `${method} ${path} answered ${answer.status}: ${JSON.stringify(answer.body)}`,
    );
    return answer.body;
  }

  /** Sends and insists on the refusal. */
  async refused(status: number, code: string, method: string, path: string, body?: unknown): Promise<void> {
    const problem = await this.expect(status, method, path, body);
    assert.equal(problem.code, code);
  }
}

/** What the story has come to so far, and how its steps are told. */
export class Story {
  readonly nobody: Visitor;
  administrator!: Visitor;
  member!: Visitor;
  memberId = "";
  memberEmail = "";
  told = 0;
  readonly #started = performance.now();

  constructor(readonly url: string) {
    this.nobody = new Visitor(url);
  }

  get elapsedMs(): number {
    return performance.now() - this.#started;
  }

  chapter(title: string): void {
    console.log(title);
  }

  /** Does one step and prints it with a tick and its time; a false one ends the tour. */
  async step<T>(sentence: string, work: () => Promise<T>): Promise<T> {
    const started = performance.now();
    try {
      const result = await work();
      console.log(`  ✓ ${sentence} ${dim(`${Math.round(performance.now() - started)} ms`)}`);
      this.told++;
      return result;
    } catch (error) {
      console.log(`  ✗ ${sentence}`);
      throw error;
    }
  }

  /** Looks again and again until `look` gives something; the story goes on when background work is done. */
  async until<T>(what: string, look: () => Promise<T | null>): Promise<T> {
    for (const since = performance.now(); performance.now() - since < PATIENCE_MS;) {
      const found = await look();
      if (found !== null) return found;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error(`${what} did not happen within ${PATIENCE_MS / 1000} s`);
  }
}

const dim = (text: string) => Deno.stdout.isTerminal() ? `\x1b[2m${text}\x1b[0m` : text;
