-- Requests of create_transfer for wrk: a random card, a random idempotency key of 32 hex digits as the SDK makes them.
-- Arguments: seed, key, number of cards, amount, ids of card programs joined by commas.

local format, random = string.format, math.random
local programs, cards, heads, amount = {}, 1, {}, 100

function init(arguments)
  math.randomseed(tonumber(arguments[1]))
  cards = tonumber(arguments[3])
  amount = tonumber(arguments[4])
  for program in arguments[5]:gmatch('[^,]+') do programs[#programs + 1] = program end
  for index, program in ipairs(programs) do
    heads[index] = 'POST /api/v0.1/core/transfer HTTP/1.1\r\nHost: ' .. wrk.headers['Host']
      .. '\r\nAuthorization: Bearer ' .. arguments[2]
      .. '\r\nProgram-Id: ' .. program
      .. '\r\nContent-Type: application/json\r\nIdempotency-Key: '
  end
end

function request()
  local body = format('{"amount":%d,"card_id":"bench-%07d"}', amount, random(1, cards))
  return format(
    '%s%08x%08x%08x%08x\r\nContent-Length: %d\r\n\r\n%s',
    heads[random(1, #heads)],
    random(0, 4294967295), random(0, 4294967295), random(0, 4294967295), random(0, 4294967295),
    #body, body
  )
end

function done(summary, latency, requests)
  local errors = summary.errors
  local broken = errors.connect + errors.read + errors.write + errors.timeout
  io.write(format(
    '\n{"requests":%d,"elapsed_us":%d,"refused":%d,"broken":%d,"p50":%d,"p90":%d,"p99":%d,"p999":%d,"most":%d}\n',
    summary.requests, summary.duration, errors.status, broken, latency:percentile(50), latency:percentile(90),
    latency:percentile(99), latency:percentile(99.9), latency.max
  ))
end
