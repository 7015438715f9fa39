# frozen_string_literal: true

# Runs jobs of a Steward service in this process. Needs Ruby 3.0 or later and no gems.

require "json"
require "logger"
require "net/http"
require "securerandom"
require "socket"
require "uri"

class StewardWorker
  SETTLED_AT_ONCE = 100 # 100 outputs of 64 KiB fit into the 8 MiB of a request
  LINES_OF_A_JOB, LINES_AT_ONCE = [100, 2_000].freeze # in a heartbeat: at most 4 of its 8 MiB
  OUTPUT_BYTES, ERROR_BYTES, LINE_BYTES, NOTE_BYTES = [64 << 10, 8 << 10, 2 << 10, 500].freeze
  LONG_POLL, LONGEST_BEAT, LONGEST_PAUSE, COLLECT = [20, 10, 15, 0.01].freeze # seconds; COLLECT: until a request is sent

  # Raised by a handler if no retry can help: the job becomes a dead letter at once.
  class HopelessJob < StandardError; end

  # Raised by a handler to run the job again later. It does not count as a failure.
  class Postpone < StandardError
    attr_reader :seconds

    def initialize(seconds)
      super("postponed by #{seconds} s")
      @seconds = seconds
    end
  end

  # The service refused a request and would refuse it again.
  class Refused < StandardError; end

  # A job for a handler.
  class Job
    attr_reader :id, :attempt, :type, :tenant_id, :args, :max_retries, :deadline, :traceparent
    # Why the handler should end early: "cancel" (a caller asked for it), "lost" (the job runs elsewhere or is over; its
    # result is not taken) or "stopping" (the worker ends). Nil if it should not.
    attr_reader :reason
    attr_accessor :result # @api private, as all that follows `sleep`; nil while the handler runs

    def initialize(given)
      @id, @attempt, @type, @tenant_id, @args, @max_retries, @deadline, @traceparent =
        given.values_at("jobId", "attempt", "jobTypeName", "tenantId", "args", "maxRetries", "deadline", "traceparent")
      @lock = Mutex.new
      @ended = ConditionVariable.new
      @progress, @lines = nil, []
    end

    # Reports progress, 0 to 100. The next heartbeat sends it.
    def progress(percent, note = nil)
      note = StewardWorker.cut(note, NOTE_BYTES) if note
      @lock.synchronize { @progress = { percent: percent.clamp(0, 100), note: note } }
    end

    # Adds a line to the log of this attempt. The next heartbeat sends it. A long message is cut.
    def log(message, level: "info", **fields)
      line = { level: level, message: StewardWorker.cut(message, LINE_BYTES / 2), fields: fields }
      line.delete(:fields) if (json = JSON.generate(line)).bytesize > LINE_BYTES || json.include?("\\u0000")
      # a byte may take six in JSON
      line[:message] = StewardWorker.cut(message, LINE_BYTES / 7) if JSON.generate(line).bytesize > LINE_BYTES
      @lock.synchronize { @lines << line }
    end

    # Sleeps, but not longer than until the handler should end early. Returns whether it should.
    def sleep(seconds)
      @lock.synchronize { @ended.wait(@lock, seconds) unless @reason || seconds <= 0 }
      !reason.nil?
    end

    def key = { jobId: id, attempt: attempt }

    def report? = @lock.synchronize { !@progress.nil? || @lines.any? }

    def take_report(lines)
      @lock.synchronize { { **key, **(@progress || {}), log: @lines.shift(lines) }.tap { @progress = nil } }
    end

    def interrupt(reason)
      @lock.synchronize do
        @reason ||= reason
        @ended.broadcast
      end
    end
  end

  def self.cut(text, bytes)
    text.to_s.encode("UTF-8", invalid: :replace, undef: :replace).delete("\0").byteslice(0, bytes).scrub("")
  end

  # `key` is an API key, or a callable that returns one. Up to `concurrency` jobs run at once, each in a thread. When
  # the worker stops, running jobs get `grace` seconds to end; the others are released.
  def initialize(url, key, handlers, concurrency: 10, queues: [], name: nil, grace: 20, log: Logger.new($stderr))
    @connect = -> { Connection.new(URI(url), key.respond_to?(:call) ? key : -> { key }, log) }
    @handlers, @concurrency, @grace, @log = handlers, concurrency, grace, log
    @claim = { types: handlers.keys, worker: name || "#{Socket.gethostname}:#{Process.pid}" }
    @claim[:queues] = queues unless queues.empty?
    @claims, @settles, @beats = Array.new(3) { @connect.call }
    @lock = Mutex.new # guards @held and the results of its jobs
    @changed = ConditionVariable.new
    @beating = Mutex.new
    @held = {} # claimed and not yet settled, by key
    @beat_seconds, @next_beat = LONGEST_BEAT, 0.0
    @claims_from = nil # in the future while the service drains
    @stopping = @over = false
  end

  # Works until SIGTERM, SIGINT or `stop`. Raises Refused if the service refuses to give jobs.
  def run
    %w[TERM INT].each { |name| trap(name) { @stopping = true } } # a trap cannot take a lock
    Thread.new { settle_ended until @over }
    Thread.new { beat_when_due until @over }
    claiming = Thread.new { claim_jobs }
    claiming.report_on_exception = false
    sleep(0.1) until @stopping || !claiming.alive?
    @stopping = true
    grace_ends = now + @grace
    @claims.interrupt until claiming.join(0.1) # raises what ended it
  ensure
    @stopping = true
    @lock.synchronize do
      wait((grace_ends || now) - now) { jobs(running: true).empty? }
      jobs(running: true).each { |job| job.interrupt("stopping") && finish(job, outcome: "released") }
      wait(5) { @held.empty? }
    end
    @over = true
  end

  # Claims no more. `run` returns when the running jobs have ended or were released.
  def stop = @stopping = true

  private

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

  def jobs(running:) = @held.values.select { |job| job.result.nil? == running }

  def wait(seconds)
    ends = now + seconds
    @changed.wait(@lock, [ends - now, 0.5].min) until yield || now >= ends
  end

  def claim_jobs
    while (places = wait_for_places).positive?
      body = { **@claim, max: places, waitSeconds: LONG_POLL, requestId: SecureRandom.uuid }
      answer = @claims.post("claim", body, LONG_POLL + 15) { @stopping }
      # after an interrupted claim: its jobs are released
      answer ||= @connect.call.post("claim", { **body, max: 1, waitSeconds: 0 }, 5) { true }
      @lock.synchronize { start(answer) } if answer
    end
  end

  # Number of jobs to claim; 0 when the worker stops. Results that are not settled limit it too.
  def wait_for_places
    sleep(COLLECT)
    @lock.synchronize do
      until @stopping
        places = [@concurrency - jobs(running: true).size, 2 * @concurrency - @held.size, 500].min
        return places if places.positive? && now >= @claims_from.to_f
        @changed.wait(@lock, 0.5)
      end
      0
    end
  end

  def start(answer)
    @beat_seconds = [answer["leaseSeconds"] / 3.0, LONGEST_BEAT].min
    @next_beat = now + @beat_seconds if @held.empty?
    answer["jobs"].map { |given| Job.new(given) }.each do |job|
      next if @held.key?(job.key) # the answer came twice
      @held[job.key] = job
      @stopping ? finish(job, outcome: "released") : Thread.new { perform(job) }
    end
  end

  def perform(job)
    output = @handlers.fetch(job.type).call(job)
    size = JSON.generate(output).bytesize
    raise "the output has #{size} bytes, the limit is #{OUTPUT_BYTES}" if size > OUTPUT_BYTES

    result = { outcome: "succeeded", output: output }
  rescue Postpone => e
    result = { outcome: "postponed", retryInSeconds: e.seconds }
  rescue HopelessJob => e
    result = { outcome: "hopeless", error: StewardWorker.cut(e.message, ERROR_BYTES) }
  rescue Exception => e # rubocop:disable Lint/RescueException -- whatever ends the handler
    result = { outcome: "failed", error: StewardWorker.cut(e.full_message(highlight: false), ERROR_BYTES) }
  ensure
    @lock.synchronize { finish(job, **result) }
  end

  def finish(job, **result)
    job.result ||= { **job.key, **result }
    @changed.broadcast
  end

  def settle_ended
    ended = @lock.synchronize do
      wait(1) { jobs(running: false).any? }
      jobs(running: false).first(SETTLED_AT_ONCE)
    end
    sleep(COLLECT)
    return if ended.empty?
    beat(ended) while ended.any?(&:report?)
    settle(ended)
    forget(ended)
  end

  def settle(jobs)
    answer = @settles.post("settle", { jobs: jobs.map(&:result) }, LONGEST_BEAT) { @over } or return
    answer["jobs"].each { |one| @log.warn("a result was not taken: #{one}") if one["result"] != "settled" }
  rescue Refused => e
    @log.error(e.message)
    job = jobs.first
    if jobs.size > 1 # one result can refuse all others
      jobs.each { |one| settle([one]) }
    elsif job.result[:outcome] != "failed" # else it waits for the end of its lease
      job.result = { **job.key, outcome: "failed", error: e.message }
      settle(jobs)
    end
  end

  def beat_when_due
    sleep(0.5)
    held = @lock.synchronize { @held.values }
    due = @next_beat - (held.any?(&:report?) ? [@beat_seconds - 1, 0].max : 0)
    beat(held) if held.any? && now >= due
  end

  # Renews the leases, sends reports, and tells handlers what the service answers.
  def beat(jobs)
    @beating.synchronize do
      @next_beat = now + @beat_seconds
      room = LINES_AT_ONCE
      items = jobs.map { |job| job.take_report([LINES_OF_A_JOB, room].min).tap { |item| room -= item[:log].size } }
      answer = @beats.post("heartbeat", { jobs: items }, LONGEST_BEAT) { @over } or return
      @claims_from = answer["drain"] ? @claims_from || (now + LONGEST_PAUSE) : nil
      states = jobs.zip(answer["jobs"].map { |one| one["state"] }).reject { |_, state| state == "held" }
      states.each { |job, state| job.interrupt(state) }
      forget(states.filter_map { |job, state| job if state == "lost" })
    end
  rescue Refused => e
    @log.error("reports of #{jobs.size} jobs are dropped: #{e.message}")
  end

  def forget(jobs)
    @lock.synchronize do
      jobs.each { |job| @held.delete(job.key) }
      @changed.broadcast
    end
  end

  # A connection that is kept open between requests. One thread uses it.
  class Connection
    def initialize(url, key, log)
      @path, @key, @log = "#{url.path.chomp("/")}/api/v1/work", key, log
      @http = Net::HTTP.new(url.host, url.port)
      @http.use_ssl = url.scheme == "https"
      @http.keep_alive_timeout = 30
    end

    # Sends a request until it is answered, or until the block is true: then it returns nil. Pauses longer after each
    # failure, and as long as the service asks for.
    def post(verb, body, limit)
      pause = 0.2
      loop do
        answer, reason, asked = send_once(verb, body, limit)
        return answer if answer || yield
        delay = [asked, pause * rand(0.5..1)].max
        @log.warn("#{reason}; sent again in #{delay.round(1)} s")
        (10 * delay).ceil.times { sleep(0.1) unless yield }
        pause = [2 * pause, LONGEST_PAUSE].min
      end
    end

    # Ends the request that another thread waits for.
    def interrupt
      @http.finish
    rescue IOError # there is none
    end

    private

    def send_once(verb, body, limit)
      @http.start unless @http.started?
      @http.read_timeout = limit
      headers = { "authorization" => "Bearer #{@key.call}", "content-type" => "application/json" }
      response = @http.post("#{@path}/#{verb}", JSON.generate(body), headers)
      status = response.code.to_i
      return JSON.parse(response.body) if status == 200
      reason = "#{verb}: #{status} #{StewardWorker.cut(response.body, 1000)}"
      raise Refused, reason if status < 500 && status != 408 && status != 429
      [nil, reason, response["retry-after"].to_f]
    rescue Refused
      raise
    rescue StandardError => e # the network, or an answer that is not JSON
      interrupt
      [nil, "#{verb}: #{e.class}: #{e.message}", 0]
    end
  end
end
