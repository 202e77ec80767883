-- Lifecycle events. The stream `ev<shard>` has one entry for each commit that tells something, `el` the position and the sum of bytes of each
-- shard's last entry, as `1795000000000000-12 34567`, and `ef` the position up to which entries were removed. Events that other calls leave
-- for the owner of a shard are in `ei<shard>`, and their ids in `eii<shard>`.
do
  -- Bytes of one read, and of one shard from which entries are read eight at a time.
  local READ_BYTES, MANY_BYTES = 131072, 32768
  -- Entries that one step of upkeep looks at, steps of one call, and entries that one call drops.
  local STEP, STEPS, DROPPED_MAX = 16, 8, 1000

  -- Epoch and number of a position. Both are below 2^53, so numbers compare them exactly.
  local function ref_of(text)
    local epoch, seq = string.match(text, '^(%d+)-(%d+)')
    return tonumber(epoch), tonumber(seq)
  end

  local function is_before(one, other)
    local epoch, seq = ref_of(one)
    local other_epoch, other_seq = ref_of(other)
    return epoch < other_epoch or (epoch == other_epoch and seq < other_seq)
  end

  local function behind(ref)
    local epoch, seq = ref_of(ref)
    return digits(epoch) .. '-' .. digits(seq + 1)
  end

  -- Fields of an entry by their names: `b` blocks, `m` ids of what was not written, `h` ids of skips, `u` steps recorded before, `t` time, `s` sum.
  local function fields_of(entry)
    local found = {}
    for i = 1, #entry[2], 2 do
      found[entry[2][i]] = entry[2][i + 1]
    end
    return found
  end

  -- Leaves events for the owner of a shard. A repeat of a member that is still there changes nothing.
  function telling.leave(p, shard, id, block)
    if call('HSETNX', p .. 'ei' .. shard, id, block) == 1 then call('ZADD', p .. 'eii' .. shard, 0, id) end
  end

  -- Adds the events of the jobs of a submission that are new. `told` has for each member its id, shard, length and block.
  function telling.stage_jobs(writes, told, fresh)
    if told == '' then return end
    local ids, at = {}, 1
    for _, job in ipairs(fresh) do
      ids[job.id] = true
    end
    while at < #told do
      local id, length = sub(told, at, at + 15), unpack_bytes('>I4', told, at + 17)
      if ids[id] then append(writes, 'told', { shard = byte(told, at + 16), id = id, block = sub(told, at + 21, at + 20 + length) }) end
      at = at + 21 + length
    end
  end

  function telling.write_jobs(p, writes)
    for _, member in ipairs(writes.told or {}) do
      telling.leave(p, member.shard, member.id, member.block)
    end
  end

  -- Reads the events and deliveries of a commit from the arguments behind `at`: the number of the entry (empty: the commit tells nothing), the block of its own
  -- events, the ids of the members of the inbox, and the time in ms. Returns the index of the last argument.
  function telling.read(args, at, asked)
    if args[at + 1] == '' then return telling.read_deliveries(args, at + 1, asked) end
    local inbox = cut(args[at + 3], 16)
    asked.told = { id = asked.epoch .. '-' .. args[at + 1], block = args[at + 2], at = args[at + 4], inbox = inbox }
    return telling.read_deliveries(args, at + 4, asked)
  end

  -- Refuses entries that would not come behind the last one. Nothing was written yet.
  function telling.refusal(p, applied)
    for _, asked in ipairs(applied) do
      local told = asked.told
      if told then
        told.last = call('HGET', p .. 'el', asked.shard) or '0-0 0'
        if not is_before(told.last, told.id) then return { err = 'MSEVENTS the events of a shard are numbered backwards' } end
      end
    end
  end

  -- Takes members out of the inbox. Returns their blocks.
  local function take_in(p, asked)
    local key, blocks = p .. 'ei' .. asked.shard, {}
    parts(asked.told.inbox, function(...)
      for _, block in ipairs(call('HMGET', key, ...)) do
        if block then blocks[#blocks + 1] = block end
      end
      call('HDEL', key, ...)
      call('ZREM', p .. 'eii' .. asked.shard, ...)
    end)
    return table.concat(blocks)
  end

  -- Writes the deliveries and the entry of a shard. Its events count but for those of `missed`, the ids of rows that the commit misses, of `unwritten`, the ids of
  -- plans and executions that it does not write, and of `unrecorded`, steps as `id/name`; `skipped` has executions created as skipped.
  function telling.write(p, asked)
    local told = asked.told
    telling.write_deliveries(p, asked)
    if not told then return end
    local blocks = told.block .. take_in(p, asked)
    if blocks == '' then return end
    local missed = table.concat(asked.missed or {}) .. table.concat(asked.unwritten or {})
    local skipped, unrecorded = table.concat(asked.skipped or {}), table.concat(asked.unrecorded or {}, '\0')
    local sum = digits(tonumber(string.match(told.last, ' (%d+)$')) + #blocks)
    local key = p .. 'ev' .. asked.shard
    call('XADD', key, told.id, 'b', blocks, 'm', missed, 'h', skipped, 'u', unrecorded, 't', told.at, 's', sum)
    call('HSET', p .. 'el', asked.shard, told.id .. ' ' .. sum)
  end

  -- Arguments: for each member its shard, id and block.
  local function leave(keys, args)
    for i = 1, #args, 3 do
      telling.leave(keys[1], args[i], args[i + 1], args[i + 2])
    end
    return 1
  end

  local function floors(p)
    local found, all = {}, call('HGETALL', p .. 'ef')
    for i = 1, #all, 2 do
      found[all[i]] = all[i + 1]
    end
    return found
  end

  -- Reads entries of a shard behind a position. Returns them and their bytes.
  local function entries_behind(key, after, limit, share)
    local found, bytes, step = {}, 0, share >= MANY_BYTES and 8 or 1
    while #found < limit and bytes < share do
      local page = call('XRANGE', key, '(' .. after, '+', 'COUNT', math.min(step, limit - #found))
      for _, entry in ipairs(page) do
        local own = fields_of(entry)
        if #found < limit and bytes < share then found[#found + 1] = { entry[1], own.b, own.m, own.h, own.u } end
        bytes, after = bytes + #own.b, entry[1]
      end
      if #page < step then break end
    end
    return found, bytes
  end

  -- Arguments: the largest number of entries of each shard, and for each shard its number and a position. Answers the entries of each shard;
  -- null: entries behind a position were removed.
  local function events(keys, args)
    local p, limit, known = keys[1], tonumber(args[1]), floors(keys[1])
    for i = 2, #args, 2 do
      if known[args[i]] and is_before(args[i + 1], known[args[i]]) then return false end
    end
    local share, left, found = math.max(1, math.floor(2 * READ_BYTES / (#args - 1))), READ_BYTES, {}
    for i = 2, #args, 2 do
      local entries, bytes = {}, 0
      if left > 0 then entries, bytes = entries_behind(p .. 'ev' .. args[i], args[i + 1], limit, share) end
      left = left - bytes
      found[#found + 1] = entries
    end
    return found
  end

  -- Arguments: for each shard its number and a position. Answers for each shard with entries behind it: the number, their bytes, and the last.
  local function event_bytes(keys, args)
    local found = {}
    for i = 1, #args, 2 do
      local key = keys[1] .. 'ev' .. args[i]
      local first = call('XRANGE', key, '(' .. args[i + 1], '+', 'COUNT', 1)[1]
      if first then
        local last, own = call('HGET', keys[1] .. 'el', args[i]), fields_of(first)
        local sum = tonumber(string.match(last, ' (%d+)$')) - tonumber(own.s) + #own.b
        append_all(found, 1, { args[i], digits(sum), string.match(last, '^[%d-]+') })
      end
    end
    return found[1] or {}
  end

  local function raise_floor(p, shard, ref)
    local known = call('HGET', p .. 'ef', shard)
    if not known or is_before(known, ref) then call('HSET', p .. 'ef', shard, ref) end
  end

  -- Removes entries up to a position. Arguments: the shard and the position. Answers the number of entries, and whether none is left.
  local function drop_events(keys, args)
    local p, shard, ref = keys[1], args[1], args[2]
    raise_floor(p, shard, ref)
    local key, least = p .. 'ev' .. shard, behind(ref)
    local dropped = call('XTRIM', key, 'MINID', '~', least, 'LIMIT', DROPPED_MAX)
    if dropped > 0 then return { dropped, 0 } end
    return { call('XTRIM', key, 'MINID', '=', least), 1 }
  end

  -- Positions of the sinks of a shard: by sink the position and the time when a node named the sink last.
  local function sinks_of(p, shard)
    local found, all = {}, call('HGETALL', p .. 'es' .. shard)
    for i = 1, #all, 2 do
      local ref, named = string.match(all[i + 1], '^(%S+) (%S+)$')
      found[all[i]] = { ref = ref, named = tonumber(named) }
    end
    return found
  end

  -- Removes the oldest entries of a shard that were written before an instant and that every sink has. Returns whether more may follow.
  local function retire_step(p, shard, keep, sinks)
    local key = p .. 'ev' .. shard
    local page, last, removed = call('XRANGE', key, '-', '+', 'COUNT', STEP), nil, 0
    for _, entry in ipairs(page) do
      local is_over = tonumber(fields_of(entry).t) < keep
      for _, sink in pairs(sinks) do
        if is_before(sink.ref, entry[1]) then is_over = false end
      end
      if not is_over then break end
      last, removed = entry[1], removed + 1
    end
    if not last then return false end
    raise_floor(p, shard, last)
    call('XTRIM', key, 'MINID', '=', behind(last))
    return removed == STEP
  end

  -- Removes old entries. Arguments: the first shard, and the instant. Answers the shard with which to go on; 64: there is nothing left.
  local function retire_events(keys, args)
    local p, shard, keep, left = keys[1], tonumber(args[1]), tonumber(args[2]), STEPS
    while shard < 64 and left > 0 do
      if call('EXISTS', p .. 'ev' .. shard) == 0 then
        shard = shard + 1
      else
        if not retire_step(p, shard, keep, sinks_of(p, shard)) then shard = shard + 1 end
        left = left - 1
      end
    end
    return shard
  end

  -- Names a sink. Arguments: the sink, the time, and the shards. Answers the position in each shard.
  local function sink(keys, args)
    local p, name, now, found = keys[1], args[1], tonumber(args[2]), {}
    for i = 3, #args do
      local known = sinks_of(p, args[i])[name] or { ref = call('HGET', p .. 'ef', args[i]) or '0-0', named = now }
      call('HSET', p .. 'es' .. args[i], name, known.ref .. ' ' .. digits(math.max(known.named, now)))
      found[#found + 1] = known.ref
    end
    return found
  end

  -- Moves the positions of a sink. Arguments: the sink, and for each shard its number and the position.
  local function advance_sink(keys, args)
    for i = 2, #args, 2 do
      local known = sinks_of(keys[1], args[i])[args[1]]
      if known and is_before(known.ref, args[i + 1]) then
        call('HSET', keys[1] .. 'es' .. args[i], args[1], args[i + 1] .. ' ' .. digits(known.named))
      end
    end
    return 1
  end

  -- Forgets sinks that no node has named since an instant.
  local function forget_sinks(keys, args)
    for shard = 0, 63 do
      for name, known in pairs(sinks_of(keys[1], shard)) do
        if known.named < tonumber(args[1]) then call('HDEL', keys[1] .. 'es' .. shard, name) end
      end
    end
    return 1
  end

  register('ms_leave', leave, ADD)
  register('ms_events', events, READ)
  register('ms_event_bytes', event_bytes, READ)
  register('ms_drop_events', drop_events, END)
  register('ms_retire_events', retire_events, END)
  register('ms_sink', sink, ADD)
  register('ms_advance_sink', advance_sink, END)
  register('ms_forget_sinks', forget_sinks, END)
end
