import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpTimeoutException;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/** Sends the requests of a worker. */
final class Connection {
    private static final int LONGEST_PAUSE = 15; // seconds
    private static final System.Logger LOG = System.getLogger("steward");

    private final String url;
    private final Supplier<String> key;
    private final HttpClient http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

    Connection(String url, Supplier<String> key) {
        this.url = url.replaceAll("/+$", "") + "/api/v1/work/";
        this.key = key;
    }

    /** The service refused a request and would refuse it again. */
    public static final class Refused extends RuntimeException {
        Refused(String answer) {
            super(answer);
        }
    }

    /**
     * Sends a request until it is answered, each time within {@code limit} seconds, or until {@code isGivenUp}: then it
     * returns null. Pauses longer after each failure, and as long as the service asks for.
     */
    Map<String, Object> post(String verb, Map<String, Object> body, int limit, BooleanSupplier isGivenUp) {
        for (double pause = 0.2;; pause = Math.min(2 * pause, LONGEST_PAUSE)) {
            String reason;
            double asked = 0;
            try {
                HttpRequest request = HttpRequest.newBuilder(URI.create(url + verb))
                        .header("authorization", "Bearer " + key.get()).header("content-type", "application/json")
                        .POST(HttpRequest.BodyPublishers.ofString(Json.write(body))).build();
                HttpResponse<String> response = send(request, limit);
                int status = response.statusCode();
                if (status == 200) return object(Json.read(response.body()));
                reason = verb + ": " + status + " " + Job.cut(response.body(), 1000);
                if (status < 500 && status != 408 && status != 429) throw new Refused(reason);
                asked = Double.parseDouble(response.headers().firstValue("retry-after").orElse("0"));
            } catch (IOException | InterruptedException | IllegalArgumentException e) {
                reason = verb + ": " + e;
            }
            if (isGivenUp.getAsBoolean()) return null;
            double delay = Math.max(asked, pause * ThreadLocalRandom.current().nextDouble(0.5, 1));
            LOG.log(System.Logger.Level.WARNING, String.format("%s; sent again in %.1f s", reason, delay));
            try {
                Thread.sleep((long) (1000 * delay));
            } catch (InterruptedException e) {
                // only claims are interrupted, to stop
            }
        }
    }

    /** Waits for the whole answer. The timeout of an HttpRequest would end with the headers. */
    private HttpResponse<String> send(HttpRequest request, int limit) throws IOException, InterruptedException {
        CompletableFuture<HttpResponse<String>> answer =
                http.sendAsync(request, HttpResponse.BodyHandlers.ofString());
        try {
            return answer.get(limit, TimeUnit.SECONDS);
        } catch (TimeoutException e) {
            throw new HttpTimeoutException("no answer in " + limit + " s");
        } catch (ExecutionException e) {
            throw new IOException(e.getCause());
        } finally {
            answer.cancel(true); // closes the connection if the answer is not complete
        }
    }

    @SuppressWarnings("unchecked")
    private static Map<String, Object> object(Object json) {
        return (Map<String, Object>) json;
    }
}
