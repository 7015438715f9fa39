import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.util.*;
import java.util.concurrent.*;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/**
 * Runs jobs of a Steward service in this process. Needs Java 17 or later, the files beside it, and no libraries.
 *
 * <pre>new StewardWorker("https://steward.example", () -> "sk_...", Map.of("invoice.render", Me::render)).run();</pre>
 */
public final class StewardWorker {
    private static final int SETTLED_AT_ONCE = 100; // 100 outputs of 64 KiB fit into the 8 MiB of a request
    private static final int LINES_OF_A_JOB = 100, LINES_AT_ONCE = 2_000; // in a heartbeat: at most 4 of its 8 MiB
    private static final int OUTPUT_BYTES = 64 << 10, ERROR_BYTES = 8 << 10;
    private static final int LONG_POLL = 20, LONGEST_BEAT = 10, LONGEST_PAUSE = 15; // seconds
    private static final double COLLECT = 0.01; // seconds in which the jobs of a request come together
    private static final System.Logger LOG = System.getLogger("steward");

    /** Thrown by a handler if no retry can help: the job becomes a dead letter at once. */
    public static final class HopelessJob extends RuntimeException {
        public HopelessJob(String reason) {
            super(reason);
        }
    }

    /** Thrown by a handler to run the job again later. It does not count as a failure. */
    public static final class Postpone extends RuntimeException {
        private final long seconds;

        public Postpone(long seconds) {
            super("postponed by " + seconds + " s");
            this.seconds = seconds;
        }
    }

    /** Runs a job and returns its output: maps, lists, strings, numbers, booleans or null. */
    public interface Handler {
        Object handle(Job job) throws Exception;
    }

    private final Connection service;
    private final Map<String, Handler> handlers;
    private final Map<String, Object> claim = new HashMap<>();
    private int concurrency = 10, graceSeconds = 20;
    private final ExecutorService threads = Executors.newCachedThreadPool(StewardWorker::daemon);
    private final Thread claiming = daemon(this::claimJobs);
    private final CompletableFuture<Void> finished = new CompletableFuture<>();
    private final Object beating = new Object();
    private final Map<Job.Key, Job> held = new LinkedHashMap<>(); // claimed and not yet settled; guarded by this
    private volatile double beatSeconds = LONGEST_BEAT, nextBeat, claimsFrom; // claims wait while the service drains
    private volatile double graceEnds;
    private volatile boolean isStopping, isOver;
    private volatile Connection.Refused refused;

    /** @param key returns an API key or a token */
    public StewardWorker(String url, Supplier<String> key, Map<String, Handler> handlers) {
        this.service = new Connection(url, key);
        this.handlers = handlers;
        claim.put("types", handlers.keySet());
        String host = System.getenv().getOrDefault("HOSTNAME", "java");
        claim.put("worker", host + ":" + ProcessHandle.current().pid() + ":" + UUID.randomUUID());
    }

    /** Maximum number of jobs that run at once, each in a thread. Default 10. */
    public StewardWorker concurrency(int jobs) {
        concurrency = jobs;
        return this;
    }

    /** Only jobs of these queues. */
    public StewardWorker queues(String... queues) {
        claim.put("queues", List.of(queues));
        return this;
    }

    /** How long running jobs may take when the worker stops. The others are released. Default 20. */
    public StewardWorker graceSeconds(int seconds) {
        graceSeconds = seconds;
        return this;
    }

    /** Works until SIGTERM, SIGINT or {@link #stop}. @throws Connection.Refused if the service refuses to give jobs */
    public void run() throws InterruptedException {
        Runtime.getRuntime().addShutdownHook(new Thread(() -> { // the JVM ends after its hooks
            stop();
            finished.join();
        }));
        threads.execute(() -> { while (!isOver) settleEnded(); });
        threads.execute(() -> { while (!isOver) beatWhenDue(); });
        claiming.start();
        claiming.join();
        synchronized (this) {
            waitUntil(graceEnds - now(), () -> jobs(true).isEmpty());
            for (Job job : jobs(true)) {
                job.interrupt("stopping");
                finish(job, Map.of("outcome", "released"));
            }
            waitUntil(5, held::isEmpty);
        }
        isOver = true;
        finished.complete(null);
        if (refused != null) throw refused;
    }

    /** Claims no more. {@code run} returns when the running jobs have ended or were released. */
    public void stop() {
        if (!isStopping) graceEnds = now() + graceSeconds;
        isStopping = true;
        claiming.interrupt();
    }

    private synchronized void waitUntil(double seconds, BooleanSupplier isTrue) {
        for (double end = now() + seconds; !isTrue.getAsBoolean() && now() < end;) {
            try {
                wait(Math.max(1, Math.min(500, (long) (1000 * (end - now())))));
            } catch (InterruptedException e) {
                return; // only the claims are interrupted, to stop
            }
        }
    }

    private synchronized List<Job> jobs(boolean running) {
        return held.values().stream().filter(job -> (job.result == null) == running).toList();
    }

    private void claimJobs() {
        try {
            for (int places = places(); places > 0; places = places()) {
                Map<String, Object> body = new HashMap<>(claim);
                body.putAll(Map.of("max", places, "waitSeconds", LONG_POLL, "requestId", UUID.randomUUID()));
                Map<String, Object> answer = service.post("claim", body, LONG_POLL + 15, () -> isStopping);
                if (answer == null) { // the interrupted claim: its jobs are released
                    body.putAll(Map.of("max", 1, "waitSeconds", 0));
                    answer = service.post("claim", body, 5, () -> true);
                }
                if (answer != null) start(answer);
            }
        } catch (Connection.Refused e) {
            refused = e;
            stop();
        }
    }

    /** Number of jobs to claim; 0 when the worker stops. Results that are not settled limit it too. */
    private int places() {
        sleep(COLLECT);
        BooleanSupplier hasPlace = () -> now() >= claimsFrom && freePlaces() > 0;
        while (!isStopping && !hasPlace.getAsBoolean()) waitUntil(1, () -> isStopping || hasPlace.getAsBoolean());
        return isStopping ? 0 : Math.min(freePlaces(), 500);
    }

    private synchronized int freePlaces() {
        return Math.min(concurrency - jobs(true).size(), 2 * concurrency - held.size());
    }

    private synchronized void start(Map<String, Object> answer) {
        beatSeconds = Math.min(((Number) answer.get("leaseSeconds")).doubleValue() / 3, LONGEST_BEAT);
        if (held.isEmpty()) nextBeat = now() + beatSeconds;
        for (Map<String, Object> given : items(answer)) {
            Job job = new Job(given);
            if (held.putIfAbsent(job.key, job) != null) continue; // the answer came twice
            if (isStopping) finish(job, Map.of("outcome", "released"));
            else threads.execute(() -> perform(job));
        }
    }

    private void perform(Job job) {
        Map<String, Object> result = new HashMap<>();
        try {
            Thread.interrupted(); // clears what came too late for an earlier job
            job.runsIn(Thread.currentThread());
            Object output = handlers.get(job.type()).handle(job);
            int size = Json.write(output).getBytes(StandardCharsets.UTF_8).length;
            if (size > OUTPUT_BYTES) {
                throw new IllegalStateException("the output has " + size + " bytes, the limit is " + OUTPUT_BYTES);
            }
            result.put("outcome", "succeeded");
            result.put("output", output);
        } catch (Postpone postpone) {
            result.putAll(Map.of("outcome", "postponed", "retryInSeconds", postpone.seconds));
        } catch (HopelessJob error) {
            String reason = String.valueOf(error.getMessage());
            result.putAll(Map.of("outcome", "hopeless", "error", Job.cut(reason, ERROR_BYTES)));
        } catch (Throwable error) {
            StringWriter trace = new StringWriter();
            error.printStackTrace(new PrintWriter(trace));
            result.putAll(Map.of("outcome", "failed", "error", Job.cut(trace.toString(), ERROR_BYTES)));
        }
        job.runsIn(null);
        finish(job, result);
    }

    private synchronized void finish(Job job, Map<String, Object> result) {
        if (job.result == null) job.result = job.item(result);
        notifyAll();
    }

    private void settleEnded() {
        waitUntil(1, () -> !jobs(false).isEmpty());
        sleep(COLLECT);
        List<Job> ended = jobs(false);
        ended = ended.subList(0, Math.min(SETTLED_AT_ONCE, ended.size()));
        while (ended.stream().anyMatch(Job::hasReport)) beat(ended);
        if (!ended.isEmpty()) settle(ended);
        forget(ended);
    }

    private void settle(List<Job> jobs) {
        try {
            Map<String, Object> body = Map.of("jobs", jobs.stream().map(job -> job.result).toList());
            Map<String, Object> answer = service.post("settle", body, LONGEST_BEAT, () -> isOver);
            for (Map<String, Object> one : answer == null ? List.<Map<String, Object>>of() : items(answer)) {
                if (!"settled".equals(one.get("result"))) warn("a result was not taken: " + one);
            }
        } catch (Connection.Refused e) {
            warn(e.getMessage());
            Job job = jobs.get(0);
            if (jobs.size() > 1) { // one result can refuse all others
                for (Job one : jobs) settle(List.of(one));
            } else if (!"failed".equals(job.result.get("outcome"))) { // else it waits for the end of its lease
                job.result = job.item(Map.of("outcome", "failed", "error", e.getMessage()));
                settle(jobs);
            }
        }
    }

    private void beatWhenDue() {
        sleep(0.5);
        List<Job> all;
        synchronized (this) {
            all = List.copyOf(held.values());
        }
        double due = nextBeat - (all.stream().anyMatch(Job::hasReport) ? Math.max(0, beatSeconds - 1) : 0);
        if (!all.isEmpty() && now() >= due) beat(all);
    }

    /** Renews the leases, sends reports, and tells handlers what the service answers. */
    private void beat(List<Job> jobs) {
        synchronized (beating) {
            nextBeat = now() + beatSeconds;
            List<Object> items = new ArrayList<>();
            int room = LINES_AT_ONCE;
            for (Job job : jobs) {
                Map<String, Object> item = job.takeReport(Math.min(LINES_OF_A_JOB, room));
                room -= ((List<?>) item.get("log")).size();
                items.add(item);
            }
            try {
                Map<String, Object> body = Map.of("jobs", items);
                Map<String, Object> answer = service.post("heartbeat", body, LONGEST_BEAT, () -> isOver);
                if (answer == null) return;
                boolean isDrained = answer.get("drain").equals(true);
                claimsFrom = !isDrained ? 0 : claimsFrom != 0 ? claimsFrom : now() + LONGEST_PAUSE;
                List<Job> lost = new ArrayList<>();
                for (int n = 0; n < jobs.size(); n++) {
                    String state = (String) items(answer).get(n).get("state");
                    if (!state.equals("held")) jobs.get(n).interrupt(state);
                    if (state.equals("lost")) lost.add(jobs.get(n));
                }
                forget(lost);
            } catch (Connection.Refused e) {
                warn("reports of " + jobs.size() + " jobs are dropped: " + e.getMessage());
            }
        }
    }

    private synchronized void forget(List<Job> jobs) {
        jobs.forEach(job -> held.remove(job.key));
        notifyAll();
    }

    @SuppressWarnings("unchecked")
    private static List<Map<String, Object>> items(Map<String, Object> answer) {
        return (List<Map<String, Object>>) answer.get("jobs");
    }

    private static double now() {
        return System.nanoTime() / 1e9;
    }

    /** Ends early only if the claims are interrupted, to stop. */
    private static void sleep(double seconds) {
        try {
            Thread.sleep((long) (1000 * seconds));
        } catch (InterruptedException e) {
            // the caller checks whether it should stop
        }
    }

    private static void warn(String message) {
        LOG.log(System.Logger.Level.WARNING, message);
    }

    private static Thread daemon(Runnable task) {
        Thread thread = new Thread(task);
        thread.setDaemon(true);
        return thread;
    }
}
