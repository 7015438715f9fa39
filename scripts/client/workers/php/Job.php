<?php

declare(strict_types=1);

/** Thrown by a handler if no retry can help: the job becomes a dead letter at once. */
final class HopelessJob extends RuntimeException
{
}

/** Thrown by a handler to run the job again later. It does not count as a failure. */
final class Postpone extends RuntimeException
{
    public function __construct(public readonly int $seconds)
    {
        parent::__construct("postponed by $seconds s");
    }
}

/** The service refused a request and would refuse it again. */
final class Refused extends RuntimeException
{
}

/** A job for a handler. */
final class Job
{
    /**
     * Why the handler should end early: `cancel` (a caller asked for it), `lost` (the job runs elsewhere or is over;
     * its result is not taken) or `stopping` (the worker ends). Null if it should not.
     */
    public ?string $reason = null;
    /** @internal null until the handler has ended */
    public ?array $result = null;
    /** @internal reports that no heartbeat has sent */
    public array $progress = [], $lines = [];

    public readonly string $id, $type, $deadline;
    public readonly int $attempt, $maxRetries;
    public readonly ?string $tenantId, $traceparent;
    public readonly mixed $args;

    /** @internal */
    public function __construct(array $given, private readonly Closure $report)
    {
        ['jobId' => $this->id, 'attempt' => $this->attempt, 'jobTypeName' => $this->type] = $given;
        ['tenantId' => $this->tenantId, 'args' => $this->args, 'maxRetries' => $this->maxRetries] = $given;
        ['deadline' => $this->deadline, 'traceparent' => $this->traceparent] = $given;
    }

    /** Reports progress, 0 to 100. A heartbeat sends it. */
    public function progress(float $percent, ?string $note = null): void
    {
        $note = $note === null ? null : StewardWorker::cut($note, StewardWorker::NOTE_BYTES);
        $this->progress = ['percent' => max(0, min(100, $percent)), 'note' => $note];
        ($this->report)();
    }

    /** Adds a line to the log of this attempt. A heartbeat sends it. A long message is cut. */
    public function log(string $message, string $level = 'info', array $fields = []): void
    {
        $line = ['level' => $level, 'message' => StewardWorker::cut($message, intdiv(StewardWorker::LINE_BYTES, 2))];
        if (!self::fits($line)) { // a byte may take six in JSON
            $line['message'] = StewardWorker::cut($message, intdiv(StewardWorker::LINE_BYTES, 7));
        }
        $whole = $line + ['fields' => $fields];
        $this->lines[] = $fields && self::fits($whole) ? $whole : $line;
        ($this->report)();
    }

    private static function fits(array $line): bool
    {
        $json = json_encode($line, JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES);
        return $json !== false && strlen($json) <= StewardWorker::LINE_BYTES && !str_contains($json, '\\u0000');
    }

    /** Sleeps until the time is over or the handler should end early. Returns whether it should. */
    public function sleep(float $seconds): bool
    {
        for ($end = microtime(true) + $seconds; $this->reason === null && ($left = $end - microtime(true)) > 0;) {
            usleep((int) (1e6 * min($left, 0.5)));
            ($this->report)();
        }
        return $this->reason !== null;
    }

    /** @internal */
    public function finish(array $result): void
    {
        $this->result ??= ['jobId' => $this->id, 'attempt' => $this->attempt] + $result;
    }
}
