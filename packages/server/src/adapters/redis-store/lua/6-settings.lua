-- Arguments: shard, id and text of the command, then the notes.
local function command(keys, args)
  local p, shard, id = keys[1], args[1], args[2]
  local notes = read_notes(args, 3)
  if is_taken(p, notes) then return TAKEN end
  if call('HSETNX', p .. 'c' .. shard, id, args[3]) == 1 then call('ZADD', p .. 'ci' .. shard, 0, id) end
  write_notes(p, notes)
  return 1
end

-- Changes the settings of a pool, unless they are not those that the caller has read. Arguments: name, the text read, the new text, whether
-- a tenant owns the pool, then the notes.
local function pool(keys, args)
  local p = keys[1]
  local notes = read_notes(args, 4)
  if is_taken(p, notes) then return TAKEN end
  if (call('HGET', p .. 'po', args[1]) or '') ~= args[2] then return 0 end
  call('HSET', p .. 'po', args[1], args[3])
  if args[4] == '1' then call('INCR', p .. 'tv') end
  write_notes(p, notes)
  return 1
end

-- Writes records into the audit log, each at a place that is free.
local function audit(keys, args)
  local p, notes = keys[1], read_notes(args, 0)
  if is_taken(p, notes) then return TAKEN end
  write_notes(p, notes)
  return 1
end

-- Settles a place: writes the record unless there is one. Answers the text of the record that is there.
local function settle_place(keys, args)
  local p, notes = keys[1], read_notes(args, 0)
  local there = call('HGET', p .. 'au', notes[1].place)
  if there then return there end
  write_notes(p, notes)
  return notes[1].text
end

-- Arguments: number and version of the changeover, its data (empty: the store has them), and the time in ms until it takes effect.
local function change_over(keys, args)
  local p, number, version, data = keys[1], args[1], args[2], args[3]
  local notes = read_notes(args, 4)
  if is_taken(p, notes) then return TAKEN end
  local has_data = call('HEXISTS', p .. 'tzv', version) == 1
  if tonumber(number) ~= call('HLEN', p .. 'tzc') + 1 or (data == '' and not has_data) then return 0 end
  local since = math.ceil(micros() / 1000) + tonumber(args[4])
  -- Without recurring jobs, nobody can have planned an instant by other data.
  if number == '1' and call('EXISTS', p .. 'jr', p .. 'jd') == 0 then since = 0 end
  if not has_data then call('HSET', p .. 'tzv', version, data) end
  call('HSET', p .. 'tzc', number, digits(since) .. ' ' .. version)
  write_notes(p, notes)
  return 1
end

-- Keeps policies of handlers, unless another node has changed them since the caller read them. Arguments: the version read, the new one, the
-- number of rows to write, for each its name and text, and the names of those to forget.
local function keep_handlers(keys, args)
  local p, rows, forgotten = keys[1], {}, {}
  if (call('GET', p .. 'hpv') or '0-0') ~= args[1] then return 0 end
  local last = 3 + 2 * tonumber(args[3])
  for i = 4, last do
    rows[#rows + 1] = args[i]
  end
  for i = last + 1, #args do
    forgotten[#forgotten + 1] = args[i]
  end
  parts(rows, function(...)
    call('HSET', p .. 'hp', ...)
  end)
  parts(forgotten, function(...)
    call('HDEL', p .. 'hp', ...)
  end)
  call('SET', p .. 'hpv', args[2])
  return 1
end

-- Removes the first parts of an attempt beyond the number that the store keeps.
local function drop_parts(key, kept)
  local names = call('HKEYS', key)
  table.sort(names, function(a, b)
    return tonumber(a) < tonumber(b)
  end)
  for i = 1, #names - kept do
    call('HDEL', key, names[i])
  end
end

-- Keeps log lines. Arguments: parts of an attempt that the store keeps, and for each part its execution, attempt, number, lines received
-- and text. The attempts that have lines are in a set for each execution, so that upkeep finds them.
local function logs(keys, args)
  local p, kept = keys[1], tonumber(args[1])
  for i = 2, #args, 5 do
    local id, attempt, received = args[i], args[i + 1], args[i + 3]
    local key = p .. 'lg' .. id .. attempt
    local known = call('HGET', key, args[i + 2])
    local is_there = call('EXISTS', p .. 'e' .. id) == 1
    if is_there and (not known or tonumber(string.match(known, '^%d+')) < tonumber(received)) then
      call('HSET', key, args[i + 2], received .. ' ' .. args[i + 4])
      call('SADD', p .. 'la' .. id, attempt)
      drop_parts(key, kept)
    end
  end
  return 1
end
