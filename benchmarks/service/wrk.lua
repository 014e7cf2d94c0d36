-- Asks for scores, and prints figures and the different answers at the end: `wrk --script wrk.lua URL BODY TOKEN`.

local threads = {}

function setup(thread)
   table.insert(threads, thread)
end

function init(arguments)
   local file = assert(io.open(arguments[1]))
   wrk.method = "POST"
   wrk.body = file:read("*a")
   wrk.headers["authorization"] = "Bearer " .. arguments[2]
   wrk.headers["content-type"] = "application/json"
   file:close()
   seen = {}
   answers = ""  -- a text, because wrk hands over no tables from one thread to another
end

function response(status, headers, body)
   if status == 200 and not seen[body] then
      seen[body] = true
      answers = answers .. body .. "\n"
   end
end

function done(summary, latency, requests)
   local errors = summary.errors
   local failed = errors.connect + errors.read + errors.write + errors.status + errors.timeout
   local figures = '{"number": %d, "span_us": %d, "median_us": %d, "p99_us": %d, "failed": %d}\n'
   io.write("-- for the benchmark --\n")
   io.write(figures:format(
      summary.requests, summary.duration, latency:percentile(50), latency:percentile(99), failed))
   for _, thread in ipairs(threads) do
      io.write(thread:get("answers"))
   end
end
