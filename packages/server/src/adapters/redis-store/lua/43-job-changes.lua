-- Changes of jobs. The caller has read the job and decided; a function writes what the caller decided, if the job is still as it was read.
do
  local STALE = 0
  -- Bytes of the name of a hash of an execution.
  local HASH_NAME = 17

  -- Executions of a job that are not final.
  local function open_of(p, job)
    local open = call('SMEMBERS', p .. 'lo' .. job)
    if byte(job, 1) < 128 then
      local first = first_execution(job)
      local record = call('GET', p .. 'e' .. first)
      if record and byte(record, 7) ~= 0 then open[#open + 1] = first end
    end
    return open
  end

  -- Whether a job has an execution that a further one waits for: any if it runs once, else the one that runs again (empty: none).
  function recurring.is_busy(p, job, again)
    if byte(job, 1) < 128 then return #open_of(p, job) > 0 end
    return again ~= '' and call('SISMEMBER', p .. 'lo' .. job, again) == 1
  end

  -- Whether the caller knows every open execution; one that has ended since does no harm.
  local function knows_open(p, job, known)
    local ids = {}
    for i = 1, #known, 16 do
      ids[sub(known, i, i + 15)] = true
    end
    for _, id in ipairs(open_of(p, job)) do
      if not ids[id] then return false end
    end
    return true
  end

  function recurring.is_as_read(p, job, text)
    return (call('GET', p .. 'j' .. job) or '') == text
  end

  -- Whether a plan is as read: `was` is its revision, its state alone, or empty.
  local function is_plan(plan, was)
    if was == '' then return true end
    if not plan then return false end
    if #was == 1 then return sub(plan, 10, 10) == was end
    return sub(plan, 1, 4) == was
  end

  -- The plan after a change: a whole record, or the number of another flow.
  local function plan_after(plan, change)
    if #change ~= 4 then return change end
    return sub(plan, 1, 5) .. change .. sub(plan, 10)
  end

  local function read_change(args)
    local asked = {
      job = args[1],
      text = args[2],
      after = args[3],
      open = args[4],
      was = args[5],
      plan = args[6],
      claimed = args[7],
      released = args[8],
      named = args[9],
      unnamed = args[10],
      deleted = args[11],
      body = args[12],
      versions = args[13],
      told = { shard = args[14], id = args[15], block = args[16] },
      commands = {},
    }
    local count = tonumber(args[17])
    for n = 1, count do
      local at = 17 + 3 * (n - 1)
      asked.commands[n] = { shard = args[at + 1], id = args[at + 2], text = args[at + 3] }
    end
    return asked, read_notes(args, 17 + 3 * count)
  end

  -- Moves the name of a job.
  local function write_names(p, asked)
    local job = asked.job
    if asked.claimed ~= '' then call('HSET', p .. 'm', asked.claimed, job) end
    if asked.released ~= '' and call('HGET', p .. 'm', asked.released) == job then
      call('HDEL', p .. 'm', asked.released)
    end
    if asked.unnamed ~= '' then call('ZREM', p .. 'mo' .. asked.unnamed, job) end
    if asked.named ~= '' then call('ZADD', p .. 'mo' .. asked.named, 0, job) end
  end

  -- Adds versions of a job whose payloads are keys of their own.
  function recurring.keep_versions(p, job, versions)
    for i = 1, #versions, 4 do
      call('SADD', p .. 'pv' .. job, sub(versions, i, i + 3))
      call('SADD', p .. 'pvj', job)
    end
  end

  -- Leaves the events of a change, unless there are none.
  function recurring.leave(p, told)
    if told.id ~= '' then telling.leave(p, told.shard, told.id, told.block) end
  end

  local function write_commands(p, commands)
    for _, one in ipairs(commands) do
      if call('HSETNX', p .. 'c' .. one.shard, one.id, one.text) == 1 then
        call('ZADD', p .. 'ci' .. one.shard, 0, one.id)
      end
    end
  end

  -- Arguments: the job, its row as read and afterwards (empty: it stays), the executions known to be open, the plan as read and afterwards,
  -- the name of a recurring job to claim and to release, the name of another job to add and to remove, the time of the deletion of a recurring
  -- job, the name of the body, versions that have one, shard, id and block of the events (empty: none), the commands, and the notes. Answers 1, 0 (the job is not as read), or the id of the job
  -- that has the name.
  local function change_job(keys, args)
    local p = keys[1]
    local asked, notes = read_change(args)
    local job, plan = asked.job, call('GET', p .. 'p' .. asked.job)
    if is_taken(p, notes) then return TAKEN end
    if not recurring.is_as_read(p, job, asked.text) or not is_plan(plan, asked.was) then return STALE end
    if not knows_open(p, job, asked.open) then return STALE end
    local holder = asked.claimed ~= '' and call('HGET', p .. 'm', asked.claimed)
    if holder and holder ~= job then return holder end
    local bodies = asked.body == '' and {} or { asked.body }
    if not has_bodies(p, bodies) then return BODY_GONE end
    local writes = recurring.new_writes(p)
    if asked.after ~= '' then append(writes.values, 1, p .. 'j' .. job, asked.after) end
    if asked.plan ~= '' then recurring.put_plan(writes, job, plan, plan_after(plan, asked.plan)) end
    recurring.write(p, writes)
    write_names(p, asked)
    if asked.deleted ~= '' then
      call('ZREM', p .. 'jr', job)
      call('ZADD', p .. 'jd', asked.deleted, job)
    end
    recurring.keep_versions(p, job, asked.versions)
    write_commands(p, asked.commands)
    recurring.leave(p, asked.told)
    keep_bodies(p, bodies)
    write_notes(p, notes)
    return 1
  end

  -- Takes an execution that runs again out of the dead letters.
  function recurring.settle(p, id)
    local record = id ~= '' and call('GET', p .. 'e' .. id)
    if not record or byte(record, 2) ~= DEAD then return end
    local flow = sub(record, 30, 33)
    if call('ZREM', p .. 'f' .. flow .. char(DEAD), id) == 1 then call('HINCRBY', p .. 'n', flow .. 'D', -1) end
  end

  -- Adds an execution to a job. Arguments: the job, its row as read and afterwards, the execution that runs again (empty: none), the new one,
  -- its record, unique key and tenant, versions whose payloads are keys of their own, the names of copies of records and signals for it, shard,
  -- id and block of its events (empty: none), and the notes. Answers 1, 0 (the job is not as read, or has an execution that is open), or the ids
  -- of the holder of the unique key.
  local function run_job(keys, args)
    local p, job, again, id, record, unique = keys[1], args[1], args[4], args[5], args[6], args[7]
    local notes, copies = read_notes(args, 13), cut(args[10], HASH_NAME)
    if is_taken(p, notes) then return TAKEN end
    if not recurring.is_as_read(p, job, args[2]) then return STALE end
    if recurring.is_busy(p, job, again) then return STALE end
    if call('EXISTS', p .. 'e' .. id) == 1 then return { err = 'MSID there is an execution with this id' } end
    local holder = unique ~= '' and call('HGET', p .. 'u', unique)
    if holder then return holder end
    if not has_bodies(p, copies) then return BODY_GONE end
    local writes = recurring.new_writes(p)
    writes.queues = new_queues(p)
    append(writes.values, 1, p .. 'e' .. id, record)
    if args[3] ~= '' then append(writes.values, 1, p .. 'j' .. job, args[3]) end
    if unique ~= '' then append(writes.fields, p .. 'u', unique, job .. id) end
    recurring.index(p, writes, job, id, record, args[8])
    enqueue(writes.queues, id, record, 1)
    recurring.write(p, writes)
    recurring.settle(p, again)
    recurring.keep_versions(p, job, args[9])
    recurring.leave(p, { shard = args[11], id = args[12], block = args[13] })
    for _, name in ipairs(copies) do
      call('RENAME', p .. name, p .. sub(name, 1, 1) .. id)
    end
    keep_bodies(p, copies)
    write_notes(p, notes)
    return 1
  end

  -- Submits a job with a name, unless there is another such job since the caller looked. Arguments: the name, the number of jobs that run once
  -- with it and the newest of them, its unique key (empty: none), its name as a recurring job (empty: it runs once), and the arguments of a
  -- submission. Answers 0 (look again), the ids of the holder of the unique key, or the outcomes of the submission.
  local function put_named(keys, args)
    local p = keys[1]
    local index = p .. 'mo' .. args[1]
    local newest = call('ZRANGE', index, '+', '-', 'BYLEX', 'REV', 'LIMIT', 0, 1)[1] or ''
    if call('ZCARD', index) ~= tonumber(args[2]) or newest ~= args[3] then return STALE end
    if call('HEXISTS', p .. 'm', args[5]) == 1 then return STALE end
    local holder = args[4] ~= '' and call('HGET', p .. 'u', args[4])
    if holder then return holder end
    local rest = {}
    for i = 6, #args do
      rest[i - 5] = args[i]
    end
    return submit(keys, rest)
  end

  register('ms_change_job', change_job, END)
  register('ms_run_job', run_job, ADD)
  register('ms_put_named', put_named, ADD)
end
