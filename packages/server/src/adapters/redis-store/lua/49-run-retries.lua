-- Retries of runs of workflows.
do
  local STALE = '0'
  -- Bytes of the name of a part of a run.
  local PART_NAME = 26

  local function read_retry(args)
    local asked = {
      job = args[1],
      text = args[2],
      former = args[3],
      id = args[4],
      record = args[5],
      unique = args[6],
      tenant = args[7],
      digest = args[8],
      hash = args[9],
      second = args[10],
      bases = cut(args[11], 16),
      parts = cut(args[12], PART_NAME),
      told = { shard = args[13], id = args[14], block = args[15] },
      fields = {},
    }
    local count, at = tonumber(args[16]), 16
    for n = 1, count do
      asked.fields[n] = args[at + n]
    end
    asked.roots, at = running.read_roots(args, at + count)
    return asked, read_notes(args, at)
  end

  -- The answer to a repeated request, or that its idempotency key was used with another one; nil: neither.
  local function answered(p, asked)
    local known = asked.digest ~= '' and call('HGET', p .. 'i', asked.digest)
    if not known then return nil end
    return sub(known, 1, 16) == asked.hash and 'R' .. sub(known, 17) or 'K'
  end

  -- Why the run is not written; nil: it is.
  local function refusal(p, asked)
    local job = asked.job
    if not recurring.is_as_read(p, job, asked.text) then return STALE end
    if recurring.is_busy(p, job, asked.former) then return STALE end
    for _, base in ipairs(asked.bases) do
      if call('EXISTS', p .. 'e' .. base) == 0 then return 'G' .. base end
    end
    local holder = asked.unique ~= '' and call('HGET', p .. 'u', asked.unique)
    return holder and 'H' .. holder or nil
  end

  local function write_retry(p, asked)
    local job, id, record, writes = asked.job, asked.id, asked.record, recurring.new_writes(p)
    writes.queues = new_queues(p)
    append(writes.values, 1, p .. 'e' .. id, record)
    if asked.unique ~= '' then append(writes.fields, p .. 'u', asked.unique, job .. id) end
    recurring.index(p, writes, job, id, record, asked.tenant)
    append_all(writes.fields, p .. 'rn' .. id, asked.fields)
    append(writes.sorted, p .. 'rt' .. asked.former, 0, id)
    for _, base in ipairs(asked.bases) do
      append(writes.sets, p .. 'rk' .. base, id)
    end
    enqueue(writes.queues, id, record, 1)
    running.stage_roots(p, writes, asked.roots)
    if asked.digest ~= '' then
      append(writes.fields, p .. 'i', asked.digest, asked.hash .. job .. id .. char(0))
      keep_digests(p, asked.second, { asked.digest })
    end
    recurring.write(p, writes)
    recurring.settle(p, asked.former)
    recurring.leave(p, asked.told)
    keep_bodies(p, asked.parts)
  end

  -- Adds a run to the job of a final one. Arguments: the job and its row as read, the final run, the new one, its record, unique key and tenant,
  -- the digests of its idempotency key and of its request (empty: none), the time in seconds, the runs from which it keeps nodes, the names of
  -- the parts that it keeps, shard, id and block of its events (empty: none), the number of its fields and these, its first nodes as those of a
  -- submission, and the notes. Answers A (accepted), 0 (the job is not as read, or an execution is open), R with the ids of the run of the
  -- first request, K (key reused), G with the id of a run that is gone, or H with the ids of the holder of the unique key.
  local function retry(keys, args)
    local p = keys[1]
    local asked, notes = read_retry(args)
    if is_taken(p, notes) then return TAKEN end
    local known = answered(p, asked) or refusal(p, asked)
    if known then return known end
    if call('EXISTS', p .. 'e' .. asked.id) == 1 or running.has_root(p, asked.roots) then
      return { err = 'MSID there is an execution with this id' }
    end
    if not has_bodies(p, asked.parts) then return BODY_GONE end
    write_retry(p, asked)
    write_notes(p, notes)
    return 'A'
  end

  register('ms_retry', retry, ADD)
end
