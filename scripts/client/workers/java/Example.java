import java.util.HashMap;
import java.util.Map;

/** Renders invoices: javac *.java && STEWARD_URL=https://steward.example STEWARD_KEY=sk_... java Example */
final class Example {
    static Object render(Job job) throws Exception {
        Map<?, ?> invoice = (Map<?, ?>) job.args();
        if (!(invoice.get("number") instanceof String number)) {
            throw new StewardWorker.HopelessJob("an invoice needs a number");
        }
        if (Boolean.FALSE.equals(invoice.get("paid"))) throw new StewardWorker.Postpone(60);
        long pages = invoice.get("pages") instanceof Number count ? count.longValue() : 0;
        if (pages < 0) throw new IllegalArgumentException("an invoice cannot have fewer than 0 pages");
        double seconds = invoice.get("secondsPerPage") instanceof Number each ? each.doubleValue() : 0;
        for (long page = 1; page <= pages; page++) {
            Thread.sleep((long) (1000 * seconds)); // ends with an exception when the handler should end early
            job.log("info", "rendered page " + page + " of " + number, Map.of("page", page));
            job.progress(100.0 * page / pages, "page " + page);
        }
        Map<String, Object> output = new HashMap<>(Map.of("number", number));
        output.put("traceparent", job.traceparent());
        return output;
    }

    public static void main(String[] args) throws Exception {
        Map<String, String> env = System.getenv();
        StewardWorker worker = new StewardWorker(env.get("STEWARD_URL"), () -> env.get("STEWARD_KEY"),
                Map.of("invoice.render", Example::render)).concurrency(100).graceSeconds(5);
        if (env.containsKey("STEWARD_QUEUE")) worker.queues(env.get("STEWARD_QUEUE"));
        worker.run();
    }
}
