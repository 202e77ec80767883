-- Positions in the log of requests. The hash `ig` has the topic (16 bytes), the offset of the next record and the one of replays (8 bytes
-- each) of each partition (4 bytes), and `igh` the highest offset of former topics. `ige<partition><topic>` has the fate of each record by its
-- offset: time (6 bytes), id, and R, or T with the ids of the job
-- and flags (1: another job has the unique key, 2: it recurs, and has no execution). `igb` has a member for each
-- call: time, partition, topic and first offset; the key `igo` with it has the offsets. A refusal is in `igf` by its place (partition, topic,
-- offset): time and text; its value in `igv`; `igr` orders refusals by time and place, and `igu` the untold ones by partition, time and place.
do
  local REMOVED_MAX = 500

  local function u64(bytes, at)
    return (unpack_bytes('>I8', bytes, at))
  end

  local function drop_refusal(p, place)
    local known = call('HGET', p .. 'igf', place)
    if not known then return end
    local at = sub(known, 1, 6)
    call('HDEL', p .. 'igf', place)
    call('HDEL', p .. 'igv', place)
    call('ZREM', p .. 'igr', at .. place)
    call('ZREM', p .. 'igu', sub(place, 1, 4) .. at .. place)
  end

  local function add_refusal(p, at, place, text, value)
    call('HSET', p .. 'igf', place, at .. text)
    if value ~= '' then call('HSET', p .. 'igv', place, value) end
    call('ZADD', p .. 'igr', 0, at .. place)
    call('ZADD', p .. 'igu', 0, sub(place, 1, 4) .. at .. place)
  end

  -- Arguments: the topic and the partitions. A partition of another topic begins at 0.
  local function open(keys, args)
    local p, topic = keys[1], args[1]
    for i = 2, #args do
      local known = call('HGET', p .. 'ig', args[i])
      if not known or sub(known, 1, 16) ~= topic then
        if known then
          local last = u64(known, 17) < u64(known, 25) and sub(known, 25) or sub(known, 17, 24)
          call('HSET', p .. 'igh', args[i] .. sub(known, 1, 16), last)
        end
        local replayed = call('HGET', p .. 'igh', args[i] .. topic) or '\0\0\0\0\0\0\0\0'
        call('HSET', p .. 'ig', args[i], topic .. '\0\0\0\0\0\0\0\0' .. replayed)
      end
    end
    return 1
  end

  local function is_at(p, partition, topic, from)
    local known = call('HGET', p .. 'ig', partition)
    return known and sub(known, 1, 24) == topic .. from and known
  end

  -- Reads the records from the arguments behind `at`: each with its offset, id, refusal with the time of the record, value, the refusals for
  -- a key that is reused and for an execution that is there, and the arguments of its submission by number (0: it is refused).
  local function read_records(args, at)
    local found, i = {}, at
    while i < #args do
      local record = { offset = args[i + 1], id = args[i + 2], refusal = args[i + 3], value = args[i + 4] }
      record.K, record.X, record.args = args[i + 5], args[i + 6], {}
      for n = 1, tonumber(args[i + 7]) do
        record.args[n] = args[i + 7 + n]
      end
      i = i + 7 + #record.args
      -- The only job of the submission.
      record.ids, record.body = record.args[5], record.args[10]
      found[#found + 1] = record
    end
    return found
  end

  -- Keeps the body of a record whose job has the same one.
  local function keep_body(p, record)
    if record.body then keep_bodies(p, names_in(record.body)) end
  end

  -- Whether the store has the execution of a record's job, or the plan of one that recurs, which has one id only.
  local function is_there(p, record)
    if not record.ids then return false end
    local kind = #record.ids == 16 and 'p' or 'e'
    return call('EXISTS', p .. kind .. sub(record.ids, 1, 16)) == 1
  end

  -- Decides which records are submitted: those that were not taken in, whose jobs are not there. Returns their arguments.
  local function judge(p, entries, records)
    local asked, seen = {}, {}
    for _, record in ipairs(records) do
      local known = call('HGET', entries, record.offset)
      record.there = is_there(p, record)
      if known and sub(known, 7, 22) == record.id and sub(known, 23, 23) == 'T' then
        record.answer = 'S'
      elseif record.ids and (record.there or seen[record.ids]) then
        record.answer = 'H'
      elseif record.ids then
        seen[record.ids] = true
        for _, arg in ipairs(record.args) do
          asked[#asked + 1] = arg
        end
      else
        record.answer = 'D'
      end
    end
    return asked
  end

  local function write_record(p, entries, at, place, record)
    local kind = sub(record.answer, 1, 1)
    drop_refusal(p, place)
    if kind == 'H' then
      local ids, flags = sub(record.ids, 17, 32) .. sub(record.ids, 1, 16), '\0'
      if #ids == 16 then
        ids, flags = ids .. string.rep('\0', 16), '\2'
      end
      call('HSET', entries, record.offset, at .. record.id .. 'T' .. ids .. flags)
    elseif kind == 'A' or kind == 'R' then
      call('HSET', entries, record.offset, at .. record.id .. 'T' .. sub(record.answer, 2))
    else
      call('HSET', entries, record.offset, at .. record.id .. 'R')
      add_refusal(p, at, place, record[kind] or record.refusal, record.value)
    end
  end

  -- Takes records in. Arguments: partition, topic, the position and the next one, the time (6 bytes), the time in seconds, the notes, and the
  -- records. Answers 0 (the position is another one), or for each record S (taken in before), H (its job is there), D (refused), or the
  -- outcome of its submission.
  local function take_in(keys, args)
    local p, partition, topic, at = keys[1], args[1], args[2], args[5]
    local asked = { args[6] }
    local notes = 3 * tonumber(args[7])
    for i = 7, 7 + notes do
      asked[#asked + 1] = args[i]
    end
    local records = read_records(args, 7 + notes)
    local known = is_at(p, partition, topic, args[3])
    if not known then
      for _, record in ipairs(records) do
        if is_there(p, record) then keep_body(p, record) end
      end
      return 0
    end
    local entries = p .. 'ige' .. partition .. topic
    for _, arg in ipairs(judge(p, entries, records)) do
      asked[#asked + 1] = arg
    end
    local outcomes = submit(keys, asked)
    if outcomes.err then return outcomes end
    local answers, offsets, n = {}, {}, 0
    for i, record in ipairs(records) do
      if not record.answer then
        n = n + 1
        record.answer = outcomes[n]
      end
      answers[i] = record.answer
      if record.there then keep_body(p, record) end
      if record.answer ~= 'S' then
        write_record(p, entries, at, partition .. topic .. record.offset, record)
        offsets[#offsets + 1] = record.offset
      end
    end
    if #offsets > 0 then
      local member = at .. partition .. topic .. offsets[1]
      call('ZADD', p .. 'igb', 0, member)
      call('APPEND', p .. 'igo' .. member, table.concat(offsets))
    end
    call('HSET', p .. 'ig', partition, topic .. args[4] .. sub(known, 25))
    return answers
  end

  -- Sets a position back. Arguments: partition, topic, the position and the new one, then the notes.
  local function rewind(keys, args)
    local p, notes = keys[1], read_notes(args, 4)
    if is_taken(p, notes) then return TAKEN end
    local known = is_at(p, args[1], args[2], args[3])
    if not known or u64(args[4], 1) > u64(args[3], 1) then return 0 end
    local replayed = u64(known, 25) < u64(args[3], 1) and args[3] or sub(known, 25)
    call('HSET', p .. 'ig', args[1], args[2] .. args[4] .. replayed)
    write_notes(p, notes)
    return 1
  end

  -- Marks refusals as told, and drops the values of their records. Arguments: their places.
  local function told(keys, args)
    local p = keys[1]
    for _, place in ipairs(args) do
      local known = call('HGET', p .. 'igf', place)
      if known then call('ZREM', p .. 'igu', sub(place, 1, 4) .. sub(known, 1, 6) .. place) end
      call('HDEL', p .. 'igv', place)
    end
    return 1
  end

  -- Forgets records and refusals of before an instant of 6 bytes. Answers whether more may follow.
  local function forget(keys, args)
    local p, before = keys[1], '(' .. args[1]
    local refusals = call('ZRANGE', p .. 'igr', '-', before, 'BYLEX', 'LIMIT', 0, REMOVED_MAX)
    for _, member in ipairs(refusals) do
      drop_refusal(p, sub(member, 7))
    end
    local taken = call('ZRANGE', p .. 'igb', '-', before, 'BYLEX', 'LIMIT', 0, 1)
    for _, member in ipairs(taken) do
      local entries, offsets = p .. 'ige' .. sub(member, 7, 26), call('GET', p .. 'igo' .. member) or ''
      for i = 1, #offsets, 8 do
        local offset = sub(offsets, i, i + 7)
        local known = call('HGET', entries, offset)
        -- A replay may have decided it again.
        if known and sub(known, 1, 6) == sub(member, 1, 6) then call('HDEL', entries, offset) end
      end
      call('UNLINK', p .. 'igo' .. member)
      call('ZREM', p .. 'igb', member)
    end
    return #refusals + #taken
  end

  register('ms_ingest_open', open, ADD)
  register('ms_take_in', take_in, ADD)
  register('ms_rewind', rewind, END)
  register('ms_ingest_told', told, END)
  register('ms_ingest_forget', forget, END)
end
