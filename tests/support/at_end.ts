/** Runs `end` when the block that has `await using _ = atEnd(end)` is left, also by an error. */
export const atEnd = (end: () => unknown): AsyncDisposable => ({
  async [Symbol.asyncDispose]() {
    await end();
  },
});
