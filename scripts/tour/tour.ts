// deno-lint-ignore-file no-explicit-any -- the tour reads responses of every shape
import assert from "node:assert/strict";

const TIMEOUT_MS = 60_000;

/** Sends HTTP requests as one caller of the service. */
export class ApiCaller {
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

  /** Sends a request and checks the status; returns the body. */
  async expect(status: number, method: string, path: string, body?: unknown): Promise<any> {
    const answer = await this.send(method, path, body);
    assert.equal(
      answer.status,
      status,
      `${method} ${path} answered ${answer.status}: ${JSON.stringify(answer.body)}`,
    );
    return answer.body;
  }

  /** Sends a request that must be refused with this status and error code. */
  async refused(status: number, code: string, method: string, path: string, body?: unknown): Promise<void> {
    const problem = await this.expect(status, method, path, body);
    assert.equal(problem.code, code);
  }
}

/** State that the steps of the tour share, and functions that run and print steps. */
export class Tour {
  readonly anonymous: ApiCaller;
  administrator!: ApiCaller;
  member!: ApiCaller;
  memberId = "";
  memberEmail = "";
  passed = 0;
  readonly #started = performance.now();

  constructor(readonly url: string) {
    this.anonymous = new ApiCaller(url);
  }

  get elapsedMs(): number {
    return performance.now() - this.#started;
  }

  section(title: string): void {
    console.log(title);
  }

  /** Runs one step and prints it with its time. A failed step ends the tour. */
  async step<T>(sentence: string, work: () => Promise<T>): Promise<T> {
    const started = performance.now();
    try {
      const result = await work();
      console.log(`  ✓ ${sentence} ${dim(`${Math.round(performance.now() - started)} ms`)}`);
      this.passed++;
      return result;
    } catch (error) {
      console.log(`  ✗ ${sentence}`);
      throw error;
    }
  }

  /** Polls until `read` returns a value, and returns it. @throws Error after a minute */
  async until<T>(what: string, read: () => Promise<T | null>): Promise<T> {
    for (const since = performance.now(); performance.now() - since < TIMEOUT_MS;) {
      const found = await read();
      if (found !== null) return found;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error(`${what} did not happen within ${TIMEOUT_MS / 1000} s`);
  }
}

const dim = (text: string) => Deno.stdout.isTerminal() ? `\x1b[2m${text}\x1b[0m` : text;
