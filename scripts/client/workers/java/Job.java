import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** A job for a handler. The handler's thread is interrupted when it should end early; {@link #reason} has the reason. */
public final class Job {
    private static final int LINE_BYTES = 2 << 10, NOTE_BYTES = 500;

    private final Map<String, Object> given;
    final Key key;
    private Map<String, Object> progress = Map.of(); // empty if there is none to send
    private final List<Object> lines = new ArrayList<>();
    Map<String, Object> result; // null while the handler runs; guarded by the worker
    private Thread thread; // of the handler, while it runs
    private String reason;

    Job(Map<String, Object> given) {
        this.given = given;
        this.key = new Key(given.get("jobId"), given.get("attempt"));
    }

    public String id() { return (String) given.get("jobId"); }
    public long attempt() { return (Long) given.get("attempt"); }
    public String type() { return (String) given.get("jobTypeName"); }
    /** Null if the job has no tenant. */
    public String tenantId() { return (String) given.get("tenantId"); }
    public Object args() { return given.get("args"); }
    public long maxRetries() { return (Long) given.get("maxRetries"); }
    public String deadline() { return (String) given.get("deadline"); }
    public String traceparent() { return (String) given.get("traceparent"); }

    /**
     * The reason why the handler should end early: "cancel" (a caller asked for it), "lost" (the attempt is over or the
     * job runs elsewhere, so its result is not accepted) or "stopping" (the worker stops). Null if it should not.
     */
    public synchronized String reason() { return reason; }

    /** Reports progress, 0 to 100. The next heartbeat sends it. */
    public synchronized void progress(double percent, String note) {
        progress = new HashMap<>(Map.of("percent", Math.max(0, Math.min(100, percent))));
        if (note != null) progress.put("note", cut(note, NOTE_BYTES));
    }

    /** Adds a line to the log of this attempt. The next heartbeat sends it. A long message is cut. */
    public synchronized void log(String level, String message, Map<String, ?> fields) {
        Map<String, Object> line = new HashMap<>(Map.of("level", level, "message", cut(message, LINE_BYTES / 2)));
        line.put("fields", fields);
        if (!fits(line)) line.remove("fields");
        if (!fits(line)) line.put("message", cut(message, LINE_BYTES / 7)); // a byte may take six in JSON
        lines.add(line);
    }

    private static boolean fits(Map<String, Object> line) {
        String text = Json.write(line);
        return text.getBytes(StandardCharsets.UTF_8).length <= LINE_BYTES && !text.contains("\\u0000");
    }

    synchronized boolean hasReport() { return !progress.isEmpty() || !lines.isEmpty(); }

    synchronized Map<String, Object> takeReport(int most) {
        List<Object> taken = lines.subList(0, Math.min(most, lines.size()));
        Map<String, Object> report = item(Map.of("log", List.copyOf(taken)));
        report.putAll(progress);
        progress = Map.of();
        taken.clear();
        return report;
    }

    synchronized void interrupt(String why) {
        reason = reason == null ? why : reason;
        if (thread != null) thread.interrupt();
    }

    synchronized void runsIn(Thread handling) { thread = handling; }

    Map<String, Object> item(Map<String, ?> more) {
        Map<String, Object> item = new LinkedHashMap<>(Map.of("jobId", id(), "attempt", attempt()));
        item.putAll(more);
        return item;
    }

    record Key(Object jobId, Object attempt) {}

    static String cut(String text, int size) {
        byte[] bytes = text.replace("\0", "").getBytes(StandardCharsets.UTF_8);
        int end = Math.min(size, bytes.length);
        while (end < bytes.length && (bytes[end] & 0xC0) == 0x80) end--;
        return new String(bytes, 0, end, StandardCharsets.UTF_8);
    }
}
