-- Leases of nodes in the hash `no`: instants of the renewal and of the end in ms, whether the node drains, and its profile. The clock is
-- that of Redis.
local FORGET_AFTER_MS, AHEAD_MAX_MS = 60000, 1000

local function read_lease(text)
  local renewed, ends, draining, profile = string.match(text, '^(%d+) (%d+) ([01]) (.*)$')
  return { renewed = tonumber(renewed), ends = tonumber(ends), draining = draining, profile = profile }
end

local function lease_text(lease)
  return digits(lease.renewed) .. ' ' .. digits(lease.ends) .. ' ' .. lease.draining .. ' ' .. lease.profile
end

-- Arguments: the node, the time in ms for which its lease lasts, whether it drained before, and its profile. Answers all leases that last, its own first.
local function renew(keys, args)
  local key, node = keys[1] .. 'no', args[1]
  local now = math.floor(micros() / 1000)
  local own = { renewed = now, ends = now + tonumber(args[2]), draining = args[3], profile = args[4] }
  local written, forgotten, lasting = {}, {}, {}
  local all = call('HGETALL', key)
  for i = 1, #all, 2 do
    local lease = read_lease(all[i + 1])
    if all[i] == node then
      own.draining = lease.draining
    elseif lease.ends < now - FORGET_AFTER_MS then
      forgotten[#forgotten + 1] = all[i]
    else
      if lease.renewed > now + AHEAD_MAX_MS then
        -- The clock was set back. A dead node would keep its shards until the clock is there again.
        lease.ends = now + (lease.ends - lease.renewed)
        lease.renewed = now
        append(written, 1, all[i], lease_text(lease))
      end
      if lease.ends > now then append_all(lasting, 1, { digits(now - lease.renewed), lease.draining, lease.profile }) end
    end
  end
  append(written, 1, node, lease_text(own))
  call('HSET', key, unpack(written[1]))
  parts(forgotten, function(...)
    call('HDEL', key, ...)
  end)
  return { '0', own.draining, own.profile, unpack(lasting[1] or {}) }
end

-- All leases that are known: whether each lasts, its age, whether the node drains, and its profile.
local function leases(keys)
  local now, found = math.floor(micros() / 1000), {}
  local all = call('HVALS', keys[1] .. 'no')
  for _, text in ipairs(all) do
    local lease = read_lease(text)
    append_all(found, 1, { lease.ends > now and '1' or '0', digits(math.max(0, now - lease.renewed)), lease.draining, lease.profile })
  end
  return found[1] or {}
end

-- Arguments: the node, and whether it is to drain. Answers whether its lease lasts.
local function drain(keys, args)
  local key = keys[1] .. 'no'
  local text = call('HGET', key, args[1])
  if not text then return 0 end
  local lease = read_lease(text)
  if lease.ends <= math.floor(micros() / 1000) then return 0 end
  lease.draining = args[2]
  call('HSET', key, args[1], lease_text(lease))
  return 1
end
