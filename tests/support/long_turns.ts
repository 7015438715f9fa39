// Preloaded into a process: prints how much processor time the main thread took for each long turn of its event loop.
// Unlike elapsed time, this hardly depends on what else the machine does. Only on Linux.
const LONG_MS = 50;
const STATISTICS = `/proc/self/task/${Deno.pid}/schedstat`;
const usedMs = () => Number(Deno.readTextFileSync(STATISTICS).split(" ")[0]) / 1e6;

let before = usedMs();
Deno.unrefTimer(setInterval(() => {
  const now = usedMs();
  if (now - before > LONG_MS) console.log(`long turn: ${Math.round(now - before)} ms`);
  before = now;
}, 1));
