-- Keys of the API, tenants and quotas.
do
  -- Changes rows under a counter of versions, unless the counter is not the one that the caller has read. Node decides what to write, so
  -- each key has one type. Arguments: the counter, the value read, the new value, the level that programs need, the keys that must not be
  -- there by number, the writes by number (each a command, its key, its field and its value), then the notes.
  local function change(keys, args)
    local p, absent, writes = keys[1], {}, {}
    local i = 5
    for n = 1, tonumber(args[i]) do
      absent[n] = p .. args[i + n]
    end
    i = i + #absent + 1
    local last = i + 4 * tonumber(args[i])
    for at = i + 1, last, 4 do
      writes[#writes + 1] = { args[at], p .. args[at + 1], args[at + 2], args[at + 3] }
    end
    local notes = read_notes(args, last)
    if is_taken(p, notes) then return TAKEN end
    if (call('GET', p .. args[1]) or '0') ~= args[2] then return 0 end
    for _, key in ipairs(absent) do
      if call('EXISTS', key) == 1 then return -1 end
    end
    for _, write in ipairs(writes) do
      local command, key, field, value = unpack(write)
      if command == 'HSET' then
        call('HSET', key, field, value)
      elseif command == 'ZADD' then
        call('ZADD', key, value, field)
      else
        call(command, key, field)
      end
    end
    call('SET', p .. args[1], args[3])
    raise_level(p, args[4])
    write_notes(p, notes)
    return 1
  end

  -- Keeps when keys were last used. Arguments: for each key its id and the time in ms. An older time changes nothing.
  local function keys_used(keys, args)
    local p = keys[1]
    for i = 1, #args, 2 do
      local known = call('HGET', p .. 'aku', args[i])
      local is_newer = not known or tonumber(known) < tonumber(args[i + 1])
      if is_newer and call('HEXISTS', p .. 'ak', args[i]) == 1 then call('HSET', p .. 'aku', args[i], args[i + 1]) end
    end
    return 1
  end

  -- Part of what is free that a node gets, as domain/quota.ts has it.
  local function portion(free, needed, wanted)
    if free < needed then return 0 end
    return math.max(needed, math.min(wanted, math.floor(free / 2)))
  end

  -- Text of a number with all of its digits.
  local function exact(number)
    return string.format('%.17g', number)
  end

  -- Takes tokens of a rate. Arguments: tenant, name of the rate, tokens in a second, tokens of a full bucket, least number, wanted number.
  local function tokens(keys, args)
    local p = keys[1]
    local key, now = p .. 'qt' .. args[1], micros() / 1000
    local per_sec, burst = tonumber(args[3]), tonumber(args[4])
    local level, at = burst, now
    local known = call('HGET', key, args[2])
    if known then
      level, at = string.match(known, '^(%S+) (%S+)$')
      level, at = tonumber(level), tonumber(at)
    end
    level = math.min(burst, level + math.max(0, now - at) / 1000 * per_sec)
    local taken = portion(level, tonumber(args[5]), tonumber(args[6]))
    call('HSET', key, args[2], exact(level - taken) .. ' ' .. exact(math.max(at, now)))
    return { exact(taken), exact(level - taken) }
  end

  -- Rows of a tenant that the counters of its flows have under these codes.
  local function rows_of(p, tenant, codes)
    local counters, sum = {}, 0
    for _, flow in ipairs(call('SMEMBERS', p .. 'kf' .. tenant)) do
      for code in string.gmatch(codes, '%d+') do
        counters[#counters + 1] = flow .. char(tonumber(code))
      end
    end
    for _, counted in pairs(fields(p .. 'n', counters)) do
      sum = sum + tonumber(counted)
    end
    return sum
  end

  -- Takes places for rows. The hash `qp<tenant>` has the places of each node with the time in ms until which they count. Arguments: tenant,
  -- name of the quota, codes of the counters, limit, node, places that the node holds, least number, wanted number, time in ms for which
  -- places are kept. Answers the places taken, the rows, and the places of other nodes.
  local function places(keys, args)
    local p, tenant, quota, limit = keys[1], args[1], args[2], tonumber(args[4])
    local held, needed = tonumber(args[6]), tonumber(args[7])
    local key, own, now = p .. 'qp' .. tenant, quota .. ' ' .. args[5], micros() / 1000
    local used, others, gone = math.min(limit, rows_of(p, tenant, args[3])), 0, {}
    local all = call('HGETALL', key)
    for i = 1, #all, 2 do
      local count, till = string.match(all[i + 1], '^(%S+) (%S+)$')
      if tonumber(till) <= now then
        gone[#gone + 1] = all[i]
      elseif sub(all[i], 1, #quota + 1) == quota .. ' ' and all[i] ~= own then
        others = others + tonumber(count)
      end
    end
    local taken = needed == 0 and 0 or portion(limit - used - others - held, needed, tonumber(args[8]))
    parts(gone, function(...)
      call('HDEL', key, ...)
    end)
    if held + taken == 0 then
      call('HDEL', key, own)
    else
      call('HSET', key, own, digits(held + taken) .. ' ' .. exact(now + tonumber(args[9])))
    end
    return { taken, used, others }
  end

  register('ms_change', change, ADD)
  register('ms_change_end', change, END)
  register('ms_keys_used', keys_used, ADD)
  register('ms_tokens', tokens, ADD)
  register('ms_places', places, ADD)
end
