-- Dead letters: replays and discards, and runs over them.
do
  -- Bytes of a record before the time of its last change.
  local UPDATED_AT = 76
  -- Letters whose runs ended long ago, which one call removes.
  local OLD_RUNS = 100

  -- Reads letters from the arguments behind `at`: each with its place (ids of the letter, the replay and the job, its flow and shard), the
  -- record of its replay (empty: it is discarded; W: it is a run, which has no replay), its unique key, its tenant, the events of the replay, the text of the job's row as read
  -- and afterwards (empty: it stays), and versions whose payloads are keys of their own. Returns them and the index of the last argument.
  local function read_letters(args, at)
    local letters, i = {}, at + 1
    for n = 1, tonumber(args[at + 1]) do
      local place = args[i + 1]
      letters[n] = {
        id = sub(place, 1, 16),
        fresh = sub(place, 17, 32),
        job = sub(place, 33, 48),
        flow = sub(place, 49, 52),
        shard = byte(place, 53),
        record = args[i + 2],
        unique = args[i + 3],
        tenant = args[i + 4],
        events = args[i + 5],
        text = args[i + 6],
        row = args[i + 7],
        versions = args[i + 8],
      }
      i = i + 8
    end
    return letters, i
  end

  -- Whether the row of a job has the time of its deletion. Names and labels are texts, in which such a field would be quoted otherwise.
  local function is_deleted(p, job)
    local text = call('GET', p .. 'j' .. job)
    return text and string.find(text, '"deletedAt":%d') ~= nil
  end

  -- Decides about a letter: S (settled), K (its unique key is held), W (a run of a workflow), N (none, or that of a deleted job).
  local function judge(p, letter, claimed)
    if not call('ZSCORE', p .. 'f' .. letter.flow .. char(DEAD), letter.id) then return 'N' end
    if letter.record == '' then return 'S' end
    if letter.record == 'W' then return 'W' end
    if is_deleted(p, letter.job) or call('EXISTS', p .. 'e' .. letter.fresh) == 1 then return 'N' end
    local unique = letter.unique
    if unique ~= '' then
      if claimed[unique] or call('HEXISTS', p .. 'u', unique) == 1 then return 'K' end
      claimed[unique] = true
    end
    return 'S'
  end

  -- Decides about letters. Returns the outcomes as a text of one character each, and the letters to settle.
  local function judge_all(p, letters)
    local outcomes, settled, claimed, seen = {}, {}, {}, {}
    for n, letter in ipairs(letters) do
      local outcome = seen[letter.id] and 'N' or judge(p, letter, claimed)
      seen[letter.id] = true
      outcomes[n] = outcome
      if outcome == 'S' then settled[#settled + 1] = letter end
    end
    return table.concat(outcomes), settled
  end

  -- Writes the row of a job that has only its first execution, unless another call has made it a whole one.
  local function stage_row(p, writes, letter)
    local job = letter.job
    if letter.row == '' or (call('GET', p .. 'j' .. job) or '') ~= letter.text then return end
    append(writes.values, 1, p .. 'j' .. job, letter.row)
    recurring.keep_versions(p, job, letter.versions)
  end

  local function stage_replay(p, writes, letter)
    append(writes.values, 1, p .. 'e' .. letter.fresh, letter.record)
    if letter.unique ~= '' then append(writes.fields, p .. 'u', letter.unique, letter.job .. letter.fresh) end
    enqueue(writes.queues, letter.fresh, letter.record, 1)
    recurring.index(p, writes, letter.job, letter.fresh, letter.record, letter.tenant)
    stage_row(p, writes, letter)
  end

  local function write_settled(p, settled, at)
    local writes, left = recurring.new_writes(p), {}
    writes.queues = new_queues(p)
    for _, letter in ipairs(settled) do
      append(left, p .. 'f' .. letter.flow .. char(DEAD), letter.id)
      count(writes.queues, letter.flow, LETTERS, -1)
      call('SETRANGE', p .. 'e' .. letter.id, UPDATED_AT, at)
      if letter.record ~= '' then stage_replay(p, writes, letter) end
      if letter.events ~= '' then telling.leave(p, letter.shard, letter.fresh, letter.events) end
    end
    write_lists('ZREM', left)
    recurring.write(p, writes)
  end

  -- Arguments: the instant in 6 bytes, the letters, and the notes. Answers the outcomes.
  local function settle_letters(keys, args)
    local p = keys[1]
    local letters, last = read_letters(args, 1)
    local notes = read_notes(args, last)
    if is_taken(p, notes) then return TAKEN end
    local outcomes, settled = judge_all(p, letters)
    if #settled == 0 then return outcomes end
    write_settled(p, settled, args[1])
    write_notes(p, notes)
    return outcomes
  end

  -- Arguments: the id of a run, its text, the instant before which runs ended that are forgotten, and the notes. A repeat changes nothing.
  local function begin_letters(keys, args)
    local p, run = keys[1], args[1]
    local notes = read_notes(args, 3)
    if is_taken(p, notes) then return TAKEN end
    for _, old in ipairs(call('ZRANGE', p .. 'drf', '-inf', '(' .. args[3], 'BYSCORE', 'LIMIT', 0, OLD_RUNS)) do
      call('UNLINK', p .. 'dr' .. old)
      call('ZREM', p .. 'drf', old)
    end
    if call('HSETNX', p .. 'dr' .. run, 'run', args[2]) == 0 then return 0 end
    call('HSET', p .. 'dr' .. run, 'marker', '', 'settled', 0, 'skipped', 0, 'finished', '')
    call('ZADD', p .. 'dro', 0, run)
    write_notes(p, notes)
    return 1
  end

  -- Settles the next letters of a run. Arguments: the run, its marker as read and afterwards, the time of its end (empty: it has not ended),
  -- the instant in 6 bytes, and the letters. Answers the outcomes; null: the run has ended, or its marker is another one.
  local function advance_letters(keys, args)
    local p, run = keys[1], args[1]
    local key = p .. 'dr' .. run
    local marker, finished = unpack(call('HMGET', key, 'marker', 'finished'))
    if marker ~= args[2] or finished ~= '' then return false end
    local outcomes, settled = judge_all(p, (read_letters(args, 5)))
    if #settled > 0 then write_settled(p, settled, args[5]) end
    local skipped = select(2, string.gsub(outcomes, '[KW]', ''))
    call('HINCRBY', key, 'settled', #settled)
    call('HINCRBY', key, 'skipped', skipped)
    call('HSET', key, 'marker', args[3], 'finished', args[4])
    if args[4] ~= '' then
      call('ZREM', p .. 'dro', run)
      call('ZADD', p .. 'drf', args[4], run)
    end
    return outcomes
  end

  register('ms_settle_letters', settle_letters, ADD)
  register('ms_begin_letters', begin_letters, ADD)
  register('ms_advance_letters', advance_letters, ADD)
end
