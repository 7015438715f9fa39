import assert from "node:assert/strict";
import { join } from "node:path";
import { hash as argon2 } from "@node-rs/argon2";
import { hash as bcrypt } from "@node-rs/bcrypt";
import { HashThreads } from "../../infra/hash_threads.ts";
import { verifyDecoy, verifyPassword } from "../../infra/passwords.ts";

const folder = await Deno.makeTempDir();
Deno.test.afterAll(() => Deno.remove(folder, { recursive: true }));

const SCRIPT = new URL("./crashing_hash_worker.ts", import.meta.url);

/** Runs passwords that crashing_hash_worker.ts knows; `answered` has the answers in their order. */
function start(maxThreads: number) {
  const threads = new HashThreads(maxThreads, SCRIPT);
  const answered: string[] = [];
  const hash = (password: string, o?: { isLong: boolean }) =>
    threads.run({ do: "hash", password, options: {} }, o).then((hash) => {
      answered.push(hash);
      return hash;
    });
  return { threads, answered, hash };
}

Deno.test("passwords are served in their order, and all but the running ones count as waiting", async () => {
  for (const maxThreads of [1, 2]) {
    const { threads, answered, hash } = start(maxThreads);
    const passwords = Array.from({ length: 20 }, (_, n) => `${n}`);
    const all = passwords.map((password) => hash(password));
    assert.equal(threads.waiting, 20 - maxThreads);
    await Promise.all(all);
    assert.equal(threads.waiting, 0);
    if (maxThreads === 1) assert.deepEqual(answered, passwords);
    assert.deepEqual(answered.toSorted(), passwords.toSorted());
  }
});

Deno.test("a thread that ends during a password is replaced, and everything it held is run again", async () => {
  const { threads, answered, hash } = start(1);
  const [first, second] = ["first", "second"].map((name) => `exit-once ${join(folder, name)}`);
  await Promise.all(["a", first, "b", second, "c"].map((password = "") => hash(password)));
  assert.deepEqual(answered, ["a", "exit-once", "b", "exit-once", "c"]);
  assert.equal(threads.waiting, 0);
});

Deno.test("a password that crashes its thread twice fails and never matches; those behind it are served", async () => {
  const { threads, hash } = start(1);
  const crashes = threads.run({ do: "verify", stored: "", passwords: ["throw"] });
  const behind = ["a", "b", "c"].map((password) => hash(password));
  await assert.rejects(crashes, /^Error: the password thread crashed: thrown by the thread$/);
  assert.deepEqual(await Promise.all(behind), ["a", "b", "c"]);
  assert.equal(threads.waiting, 0);
});

Deno.test("a password that cannot be verified fails, and the thread goes on", async () => {
  const { threads, hash } = start(1);
  await assert.rejects(threads.run({ do: "verify", stored: "", passwords: ["fail"] }), /^Error: a reason$/);
  assert.equal(await hash("later"), "later");
  const password = "correct horse battery";
  const malformed = verifyPassword("no hash", password);
  await assert.rejects(malformed, (error: Error) => !Deno.inspect(error).includes(password));
  assert.equal(await verifyDecoy(password), false);
});

Deno.test("each password gets its own answer, also while the module for bcrypt is loaded", async () => {
  const threads = new HashThreads(1);
  const [stored, own] = [await bcrypt("one", 4), await argon2("two")];
  const asked = [[stored, "one"], [own, "two"], [own, "one"], [stored, "two"], [own, "two"]];
  const answers = asked.map(([stored = "", password = ""]) =>
    threads.run({ do: "verify", stored, passwords: [password] })
  );
  assert.deepEqual(await Promise.all(answers), [true, true, false, false, true]);
});

Deno.test("passwords fail if threads end at their start or cannot be started", async () => {
  for (const script of ["data:text/javascript,process.exit(1)", "unknown:script"]) {
    const threads = new HashThreads(1, new URL(script));
    const all = ["a", "b", "c"].map((password) => threads.run({ do: "hash", password, options: {} }));
    for (const { status } of await Promise.allSettled(all)) assert.equal(status, "rejected");
    assert.equal(threads.waiting, 0);
  }
});

Deno.test("no password waits behind a long one while another thread is free", async () => {
  const { answered, hash } = start(2);
  const file = join(folder, "end-of-the-long-one");
  const long = hash(`wait ${file}`, { isLong: true });
  await Promise.all(["a", "b", "c", "d"].map((password) => hash(password)));
  await Deno.writeTextFile(file, "");
  await long;
  assert.deepEqual(answered, ["a", "b", "c", "d", "wait"]);
});
