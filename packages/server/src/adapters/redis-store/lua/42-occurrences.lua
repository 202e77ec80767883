-- The part `plans` of a commit.
do
  -- Bytes of a range of skipped instants: the first, the last, the number and the reason.
  local SKIP = 17

  -- Reads the plans of a shard from the arguments behind `at`: each with its job, the revision that it must have, the new record, the skipped
  -- instants and the executions to create. Returns them and the index of the last argument.
  function recurring.read_plans(args, at)
    local found, i = {}, at + 1
    for n = 1, tonumber(args[i]) do
      local plan = { job = args[i + 1], was = args[i + 2], record = args[i + 3], skips = args[i + 4], created = {} }
      local count = tonumber(args[i + 5])
      i = i + 5
      for k = 1, count do
        plan.created[k] = {
          id = args[i + 1],
          record = args[i + 2],
          skipped = args[i + 3],
          unique = args[i + 4],
          tenant = args[i + 5],
        }
        i = i + 5
      end
      found[n] = plan
    end
    return found, i
  end

  local function stage_skips(p, writes, plan)
    for i = 1, #plan.skips, SKIP do
      local from, key = sub(plan.skips, i, i + 5), p .. 'q' .. plan.job
      -- A range that is told again stays as it was.
      local there = call('ZRANGE', key, '[' .. from, '+', 'BYLEX', 'LIMIT', 0, 1)[1]
      if not there or sub(there, 1, 6) ~= from then append(writes.sorted, key, 0, sub(plan.skips, i, i + SKIP - 1)) end
    end
  end

  -- Adds the plans of a shard to the writes. Returns the ids of jobs whose plans have another revision, and puts these ids and those of
  -- the occurrences of such plans into `asked.unwritten`.
  function recurring.stage_plans(p, asked, writes)
    local missed, keys, rows = {}, {}, {}
    for n, plan in ipairs(asked.plans) do
      keys[n] = p .. 'p' .. plan.job
    end
    parts(keys, function(...)
      for _, row in ipairs(call('MGET', ...)) do
        rows[#rows + 1] = row
      end
    end)
    asked.created, asked.unwritten = {}, {}
    for n, plan in ipairs(asked.plans) do
      if rows[n] and sub(rows[n], 1, 4) == plan.was then
        -- The shard and the flow are those of the job.
        local after = sub(plan.record, 1, 4) .. sub(rows[n], 5, 9) .. sub(plan.record, 10)
        recurring.put_plan(writes, plan.job, rows[n], after)
        stage_skips(p, writes, plan)
        for _, created in ipairs(plan.created) do
          created.job = plan.job
          asked.created[#asked.created + 1] = created
        end
      else
        missed[#missed + 1] = plan.job
        asked.unwritten[#asked.unwritten + 1] = plan.job
        for _, created in ipairs(plan.created) do
          asked.unwritten[#asked.unwritten + 1] = created.id
        end
      end
    end
    return table.concat(missed)
  end

  -- Adds an execution. An execution whose unique key is held is written as skipped. Returns whether it is created to run.
  local function create(p, writes, created, freed)
    local unique, record = created.unique, created.record
    local is_held = unique ~= ''
      and (writes.claimed[unique] or (not freed[unique] and call('HEXISTS', p .. 'u', unique) == 1))
    if is_held then
      record = created.skipped
      append(writes.sorted, p .. 'f' .. sub(record, 30, 33) .. char(SKIPPED), 0, created.id)
    elseif unique ~= '' then
      writes.claimed[unique] = true
      append(writes.fields, p .. 'u', unique, created.job .. created.id)
    end
    append(writes.values, 1, p .. 'e' .. created.id, record)
    recurring.index(p, writes, created.job, created.id, record, created.tenant)
    enqueue(writes.queues, created.id, record, 1)
    return not is_held
  end

  -- Adds the executions that the plans create, once it is known which unique keys the commit frees. An execution that is there already claims
  -- no key, because nothing would free it. Adds those that are not created to run to `asked.unwritten`, and the skipped ones among them to
  -- `asked.skipped`.
  function recurring.stage_created(p, applied, writes, freed_list)
    local freed = {}
    for _, unique in ipairs(freed_list) do
      freed[unique] = true
    end
    writes.queues = new_queues(p)
    for _, asked in ipairs(applied) do
      local ids, missing, skipped = {}, {}, {}
      for n, created in ipairs(asked.created) do
        ids[n] = created.id
      end
      local there = records(p, ids)
      for n, created in ipairs(asked.created) do
        local is_new = not there[n] and not writes.born[created.id]
        writes.born[created.id] = true
        local is_skipped = is_new and not create(p, writes, created, freed)
        if is_skipped then skipped[#skipped + 1] = created.id end
        if is_skipped or not is_new then missing[#missing + 1] = created.id end
      end
      asked.outcome[3] = table.concat(missing)
      asked.unwritten[#asked.unwritten + 1] = asked.outcome[3]
      asked.skipped = skipped
    end
  end
end
