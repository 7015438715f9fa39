<?php

// Renders invoices: STEWARD_URL=https://steward.example STEWARD_KEY=sk_... php example.php

declare(strict_types=1);

require_once __DIR__ . '/StewardWorker.php';

function render(Job $job): array
{
    $invoice = $job->args;
    if (empty($invoice['number'])) {
        throw new HopelessJob('an invoice needs a number');
    }
    if (($invoice['paid'] ?? true) === false) {
        throw new Postpone(60);
    }
    $pages = $invoice['pages'] ?? 0;
    if ($pages < 0) {
        throw new InvalidArgumentException('an invoice cannot have fewer than 0 pages');
    }
    for ($page = 1; $page <= $pages; $page++) {
        if ($job->sleep($invoice['secondsPerPage'] ?? 0)) {
            throw new RuntimeException("not finished: $job->reason");
        }
        $job->log("rendered page $page of {$invoice['number']}", fields: ['page' => $page]);
        $job->progress(100 * $page / $pages, "page $page");
    }
    return ['number' => $invoice['number'], 'traceparent' => $job->traceparent];
}

$queues = getenv('STEWARD_QUEUE') ? [getenv('STEWARD_QUEUE')] : [];
$handlers = ['invoice.render' => render(...)];
(new StewardWorker(getenv('STEWARD_URL'), getenv('STEWARD_KEY'), $handlers, queues: $queues, grace: 5))->run();
