// Preloaded before main.ts: handlers of Deno.cron run when the process receives SIGUSR2, instead of every full minute.
const crons = new Map<string, () => unknown>();

Object.defineProperty(Deno, "cron", {
  value(name: string, schedule: string, handler: () => unknown) {
    crons.set(name, handler);
    console.log(`cron ${name} ${schedule}`);
    return Promise.resolve();
  },
});

Deno.addSignalListener("SIGUSR2", async () => {
  for (const handler of crons.values()) await handler();
  console.log("crons done");
});
