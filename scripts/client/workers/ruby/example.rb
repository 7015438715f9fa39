# frozen_string_literal: true

# Renders invoices: STEWARD_URL=https://steward.example STEWARD_KEY=sk_... ruby example.rb
require_relative "steward_worker"

def render(job)
  number, pages, seconds_per_page = job.args.values_at("number", "pages", "secondsPerPage")
  raise StewardWorker::HopelessJob, "an invoice needs a number" unless number
  raise StewardWorker::Postpone, 60 if job.args["paid"] == false
  raise "an invoice cannot have fewer than 0 pages" if pages.to_i.negative?

  1.upto(pages.to_i) do |page|
    raise "not finished: #{job.reason}" if job.sleep(seconds_per_page.to_f)

    job.log("rendered page #{page} of #{number}", page: page)
    job.progress(100.0 * page / pages, "page #{page}")
  end
  { number: number, traceparent: job.traceparent }
end

queues = [ENV["STEWARD_QUEUE"]].compact
handlers = { "invoice.render" => method(:render) }
StewardWorker.new(ENV.fetch("STEWARD_URL"), ENV.fetch("STEWARD_KEY"), handlers, concurrency: 100, queues:, grace: 5).run
