// Loaded before main.ts: what it gives to Deno.cron runs when the process gets SIGUSR2 instead of at every full minute.
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
