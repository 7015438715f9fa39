<?php

declare(strict_types=1);

require_once __DIR__ . '/Job.php';

/**
 * Runs jobs of a Steward service in this process, one after another: start as many processes as jobs should run at
 * once. Needs PHP 8.1 with the extension curl. With the extension pcntl, heartbeats are sent while a handler runs, and
 * SIGTERM and SIGINT end the worker gracefully. Without it, heartbeats are only sent between jobs and when the handler
 * calls `progress`, `log` or `sleep`, and a signal ends the process: its jobs run elsewhere after their lease.
 */
final class StewardWorker
{
    public const OUTPUT_BYTES = 64 << 10, ERROR_BYTES = 8 << 10, LINE_BYTES = 2 << 10, NOTE_BYTES = 500;
    private const SETTLED_AT_ONCE = 100; // 100 outputs of 64 KiB fit into the 8 MiB of a request
    private const LINES_OF_A_JOB = 100, LINES_AT_ONCE = 2_000; // in a heartbeat: at most 4 of its 8 MiB
    private const LONG_POLL = 20, LONGEST_BEAT = 10, LONGEST_PAUSE = 15; // seconds

    /** @var array<string, Job> claimed and not yet settled */
    private array $held = [];
    private array $claim;
    private CurlHandle $http;
    private float $beatSeconds = self::LONGEST_BEAT, $nextBeat = 0, $claimsFrom = 0, $sendsFrom = 0, $nextSettle = 0;
    private float $secondsPerJob = 1; // decides how many jobs are claimed at once
    private ?float $stopsAt = null; // end of the grace time
    private int $failures = 0, $settledAtOnce = self::SETTLED_AT_ONCE;
    private bool $isReporting = false, $isHandling = false;

    /**
     * @param string|Closure $key an API key, or a function that returns one
     * @param array<string, callable(Job): mixed> $handlers by job type
     * @param int $batch how many jobs are claimed at once, if each takes a short time: about a second for all
     * @param string[] $queues if given, only jobs of these queues
     * @param int $grace seconds for the running job when the worker stops
     */
    public function __construct(
        private readonly string $url,
        private readonly string|Closure $key,
        private readonly array $handlers,
        private readonly int $batch = 100,
        array $queues = [],
        ?string $name = null,
        private readonly int $grace = 20,
    ) {
        $this->claim = ['types' => array_keys($handlers), 'worker' => $name ?? gethostname() . ':' . getmypid()];
        $this->claim += $queues ? ['queues' => $queues] : [];
        $this->http = curl_init();
    }

    /** Works until SIGTERM, SIGINT or `stop()`. @throws Refused if the service refuses to give jobs */
    public function run(): void
    {
        if (function_exists('pcntl_async_signals')) {
            pcntl_async_signals(true);
            pcntl_signal(SIGTERM, fn () => $this->stop());
            pcntl_signal(SIGINT, fn () => $this->stop());
            pcntl_signal(SIGALRM, fn () => $this->report());
        }
        for ($body = null; $this->stopsAt === null;) {
            if (microtime(true) < max($this->claimsFrom, $this->sendsFrom)) {
                usleep(100_000);
                continue;
            }
            $max = (int) max(1, min($this->batch, 1 / $this->secondsPerJob));
            $body ??= $this->claim + ['max' => $max, 'waitSeconds' => self::LONG_POLL, 'requestId' => self::newId()];
            $answer = $this->send('claim', $body, self::LONG_POLL + 15);
            if ($answer) { // a lost answer is asked for again with the same requestId
                $body = null;
                $this->work($answer);
            }
        }
        if ($body) { // the interrupted claim: its jobs are released
            $this->sendsFrom = 0;
            $answer = $this->send('claim', ['max' => 1, 'waitSeconds' => 0] + $body, 5);
            $answer && $this->work($answer);
        }
    }

    /** Claims no more. `run` returns when the running job has ended or was released. */
    public function stop(): void
    {
        $this->stopsAt ??= microtime(true) + $this->grace;
    }

    private function work(array $answer): void
    {
        $this->beatSeconds = min($answer['leaseSeconds'] / 3, self::LONGEST_BEAT);
        $this->nextBeat = microtime(true) + $this->beatSeconds;
        foreach ($answer['jobs'] as $given) {
            $job = new Job($given, $this->report(...));
            $this->held["$job->id $job->attempt"] = $job;
        }
        foreach ($this->held as $job) {
            if ($this->stopsAt !== null) {
                $job->finish(['outcome' => 'released']);
            } elseif ($job->reason !== 'lost') {
                $started = microtime(true);
                $this->handle($job);
                $this->secondsPerJob = 0.8 * $this->secondsPerJob + 0.2 * (microtime(true) - $started);
            }
            $this->report();
        }
        while ($this->held && microtime(true) < ($this->stopsAt ?? INF) + 5) {
            $this->report(true);
            $this->held && microtime(true) < $this->sendsFrom && usleep(50_000);
        }
        $this->held = [];
    }

    private function handle(Job $job): void
    {
        try {
            $this->isHandling = true;
            $this->setAlarm();
            $output = ($this->handlers[$job->type])($job);
            $size = strlen(json_encode($output, JSON_THROW_ON_ERROR));
            if ($size > self::OUTPUT_BYTES) {
                throw new LengthException("the output has $size bytes, the limit is " . self::OUTPUT_BYTES);
            }
            $job->finish(['outcome' => 'succeeded', 'output' => $output]);
        } catch (Postpone $postpone) {
            $job->finish(['outcome' => 'postponed', 'retryInSeconds' => $postpone->seconds]);
        } catch (HopelessJob $error) {
            $job->finish(['outcome' => 'hopeless', 'error' => self::cut($error->getMessage(), self::ERROR_BYTES)]);
        } catch (Throwable $error) {
            $job->finish(['outcome' => 'failed', 'error' => self::cut((string) $error, self::ERROR_BYTES)]);
        } finally {
            $this->isHandling = false;
            $this->setAlarm();
        }
    }

    /** Sends a heartbeat and results if it is time for them. A signal calls it while a handler runs. */
    private function report(bool $all = false): void
    {
        if ($this->isReporting) {
            return;
        }
        $this->isReporting = true;
        try {
            if ($this->isHandling && $this->stopsAt !== null && microtime(true) >= $this->stopsAt) {
                $this->releaseAndExit();
            }
            microtime(true) >= $this->sendsFrom && $this->sendDue($all);
        } finally {
            $this->isReporting = false;
            $this->setAlarm();
        }
    }

    /** The handler did not end in the grace time. PHP cannot end it alone, so the process ends. */
    private function releaseAndExit(): never
    {
        $this->isHandling = false;
        $this->setAlarm();
        foreach ($this->held as $job) {
            $job->reason ??= 'stopping';
            $job->finish(['outcome' => 'released']);
        }
        for ($tries = 3; $this->held && $tries > 0; $tries--) {
            $this->sendDue(true);
        }
        exit(0);
    }

    /** Sets the next call of `report` during a handler. A signal after it could end PHP while it shuts down, with a failure. */
    private function setAlarm(): void
    {
        if (function_exists('pcntl_alarm')) {
            $next = min(max($this->nextBeat, $this->sendsFrom), $this->stopsAt ?? INF);
            pcntl_alarm($this->isHandling ? (int) max(1, ceil($next - microtime(true))) : 0);
        }
    }

    private function sendDue(bool $all): void
    {
        $now = microtime(true);
        $hasReport = fn (array $jobs) => (bool) array_filter($jobs, fn (Job $job) => $job->progress || $job->lines);
        $ended = array_filter($this->held, fn (Job $job) => $job->result !== null);
        $ended = array_slice($ended, 0, $this->settledAtOnce);
        $isSettling = $ended && ($all || count($ended) === self::SETTLED_AT_ONCE || $now >= $this->nextSettle);
        $due = $this->nextBeat - ($hasReport($this->held) ? max(0, $this->beatSeconds - 1) : 0);
        if ($this->held && $now >= $due || $isSettling && $hasReport($ended)) {
            $this->beat();
        } elseif ($isSettling) {
            $this->nextSettle = $now + 1;
            $this->settle($ended);
        }
    }

    /** Renews the leases, sends reports, and tells the handler what the service answers. */
    private function beat(): void
    {
        [$room, $items, $sent] = [self::LINES_AT_ONCE, [], []];
        foreach ($this->held as $job) {
            $lines = array_slice($job->lines, 0, min(self::LINES_OF_A_JOB, $room));
            $room -= count($lines);
            $sent[] = [$job, count($lines), $job->progress];
            $items[] = ['jobId' => $job->id, 'attempt' => $job->attempt, 'log' => $lines] + $job->progress;
        }
        try {
            $answer = $this->send('heartbeat', ['jobs' => $items], self::LONGEST_BEAT);
        } catch (Refused $refused) {
            error_log('steward: reports of ' . count($items) . " jobs are dropped: {$refused->getMessage()}");
            $answer = ['jobs' => [], 'drain' => false];
        }
        if (!$answer) {
            return;
        }
        foreach ($sent as [$job, $lines, $progress]) {
            array_splice($job->lines, 0, $lines);
            $job->progress = $job->progress === $progress ? [] : $job->progress;
        }
        $this->nextBeat = microtime(true) + $this->beatSeconds;
        $this->claimsFrom = $answer['drain'] ? ($this->claimsFrom ?: microtime(true) + self::LONGEST_PAUSE) : 0;
        foreach ($answer['jobs'] as $one) {
            $job = $this->held["{$one['jobId']} {$one['attempt']}"];
            $job->reason ??= $one['state'] === 'held' ? null : $one['state'];
            if ($one['state'] === 'lost') {
                $job->reason = 'lost';
                unset($this->held["{$one['jobId']} {$one['attempt']}"]);
            }
        }
    }

    /** @param Job[] $jobs */
    private function settle(array $jobs): void
    {
        try {
            $answer = $this->send('settle', ['jobs' => array_column($jobs, 'result')], self::LONGEST_BEAT);
            if (!$answer) {
                return;
            }
            foreach ($answer['jobs'] as $one) {
                $one['result'] === 'settled' || error_log('steward: a result was not taken: ' . json_encode($one));
            }
            $this->settledAtOnce = min(2 * $this->settledAtOnce, self::SETTLED_AT_ONCE);
            $this->held = array_diff_key($this->held, $jobs);
        } catch (Refused $refused) {
            error_log("steward: {$refused->getMessage()}");
            $this->settledAtOnce = 1; // one result can refuse all others
            $job = reset($jobs);
            if (count($jobs) === 1 && $job->result['outcome'] === 'failed') {
                $this->held = array_diff_key($this->held, $jobs); // it waits for the end of its lease
            } elseif (count($jobs) === 1) {
                $job->result = ['outcome' => 'failed', 'error' => $refused->getMessage()] + $job->result;
                unset($job->result['output'], $job->result['retryInSeconds']);
            }
        }
    }

    /** Sends a request. Null if it failed and can be sent again, from `sendsFrom` on. @throws Refused */
    private function send(string $verb, array $body, int $limit): ?array
    {
        $retryAfter = 0.0;
        curl_setopt_array($this->http, [
            CURLOPT_URL => rtrim($this->url, '/') . "/api/v1/work/$verb",
            CURLOPT_POSTFIELDS => json_encode($body, JSON_INVALID_UTF8_SUBSTITUTE | JSON_THROW_ON_ERROR),
            CURLOPT_HTTPHEADER => [
                'authorization: Bearer ' . ($this->key instanceof Closure ? ($this->key)() : $this->key),
                'content-type: application/json',
                'expect:',
            ],
            CURLOPT_RETURNTRANSFER => true,
            CURLOPT_TIMEOUT => $limit,
            CURLOPT_NOPROGRESS => false,
            // ends the long poll when the worker stops
            CURLOPT_XFERINFOFUNCTION => fn () => $this->stopsAt !== null && ($body['waitSeconds'] ?? 0) > 0 ? 1 : 0,
            CURLOPT_HEADERFUNCTION => function ($_, string $header) use (&$retryAfter): int {
                $retryAfter = stripos($header, 'retry-after:') === 0 ? (float) substr($header, 12) : $retryAfter;
                return strlen($header);
            },
        ]);
        $text = curl_exec($this->http);
        $status = $text === false ? 0 : curl_getinfo($this->http, CURLINFO_RESPONSE_CODE);
        $answer = $status === 200 ? json_decode($text, true) : null;
        if (is_array($answer)) {
            $this->failures = 0;
            return $answer;
        }
        $reason = $text === false ? curl_error($this->http) : "$status " . self::cut($text, 1000);
        if ($status >= 400 && $status < 500 && $status !== 408 && $status !== 429) {
            throw new Refused("$verb: $reason");
        }
        $pause = min(self::LONGEST_PAUSE, 0.1 * 2 ** ++$this->failures) * mt_rand(50, 100) / 100;
        $this->sendsFrom = microtime(true) + max($retryAfter, $pause);
        $this->stopsAt ?? error_log("steward: $verb: $reason; sent again later");
        return null;
    }

    private static function newId(): string
    {
        $bytes = random_bytes(16);
        [$bytes[6], $bytes[8]] = [chr(ord($bytes[6]) & 0x0f | 0x40), chr(ord($bytes[8]) & 0x3f | 0x80)];
        return vsprintf('%s%s-%s-%s-%s-%s%s%s', str_split(bin2hex($bytes), 4));
    }

    public static function cut(string $text, int $bytes): string
    {
        $cut = substr(str_replace("\0", '', $text), 0, $bytes);
        return preg_replace('/[\xC0-\xFF][\x80-\xBF]*$/', '', $cut, strlen($text) > $bytes ? 1 : 0) ?? '';
    }
}
