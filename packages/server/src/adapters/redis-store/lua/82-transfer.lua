-- Writes of a transfer from another store. The store has a mark meanwhile, so that no server sees a half of it.
do
  local FILLING = 'FILLING '

  local NOT_MARKED = { err = 'MSNOFILL the store is not being filled' }

  local function is_filling(p)
    return sub(call('GET', p .. 'mark') or '', 1, #FILLING) == FILLING
  end

  -- Adds an execution to the indexes of final ones. The run is the dead letter, and not its nodes.
  local function stage_end(p, writes, one)
    local record = one.record
    local state, flow = byte(record, 2), sub(record, 30, 33)
    if byte(record, 7) ~= 0 or running.is_node(record) then return end
    if (state == DEAD and not one.is_settled) or state == CANCELLED or state == SKIPPED then
      append(writes.sorted, p .. 'f' .. flow .. char(state), 0, one.id)
      if state == DEAD then count(writes.queues, flow, LETTERS, 1) end
    end
  end

  local function stage_execution(p, writes, one)
    local id, record, job = one.id, one.record, one.job
    append(writes.values, 1, p .. 'e' .. id, record)
    enqueue(writes.queues, id, record, 1)
    if running.is_node(record) then
      running.index(p, writes, id, record)
      if running.is_run(record) then running.add(p, writes, id, record, '', job) end
    elseif id ~= first_execution(job) then
      recurring.index(p, writes, job, id, record, one.tenant)
    elseif running.is_run(record) then
      running.add(p, writes, id, record, one.tenant, job)
    end
    stage_end(p, writes, one)
  end

  -- Arguments: for each execution its id with that of its job or run, its record, its tenant, and S if it is a settled dead letter. Executions
  -- that are there stay as they are.
  local function fill_executions(keys, args)
    local p, ids = keys[1], {}
    if not is_filling(p) then return NOT_MARKED end
    for i = 1, #args, 4 do
      ids[#ids + 1] = sub(args[i], 1, 16)
    end
    local writes = recurring.new_writes(p)
    writes.queues = new_queues(p)
    for n, known in ipairs(records(p, ids)) do
      local i = 4 * n - 3
      local one = { id = ids[n], job = sub(args[i], 17), record = args[i + 1], tenant = args[i + 2], is_settled = args[i + 3] == 'S' }
      if not known then stage_execution(p, writes, one) end
    end
    recurring.write(p, writes)
    return #ids
  end

  -- Arguments: for each plan its job and record. Plans that are there stay as they are.
  local function fill_plans(keys, args)
    local p = keys[1]
    if not is_filling(p) then return NOT_MARKED end
    local writes = recurring.new_writes(p)
    for i = 1, #args, 2 do
      if call('EXISTS', p .. 'p' .. args[i]) == 0 then recurring.put_plan(writes, args[i], false, args[i + 1]) end
    end
    recurring.write(p, writes)
    return 1
  end

  -- Arguments: for each job its id, the text of its row, its tenant, the instant in ms of its deletion (empty: none) and its name in the index of jobs that run
  -- once (empty: none). Jobs that are there stay as they are.
  local function fill_jobs(keys, args)
    local p = keys[1]
    if not is_filling(p) then return NOT_MARKED end
    for i = 1, #args, 5 do
      local job, tenant, deleted, name = args[i], args[i + 2], args[i + 3], args[i + 4]
      local is_new = call('SETNX', p .. 'j' .. job, args[i + 1]) == 1
      if is_new and byte(job, 1) < 128 then
        local second = digits(math.floor(unpack_bytes('>I6', job) / 1000))
        call('APPEND', p .. 'x' .. tenant .. ':' .. second, job)
        call('ZADD', p .. 'xb' .. tenant, second, second)
        call('SADD', p .. 'xt', tenant)
        if name ~= '' then call('ZADD', p .. 'mo' .. name, 0, job) end
      elseif is_new then
        -- Lists have deleted jobs until upkeep removes them.
        call('ZADD', p .. 'jr' .. tenant, 0, job)
        if deleted == '' then call('ZADD', p .. 'jr', 0, job) else call('ZADD', p .. 'jd', deleted, job) end
      end
    end
    return 1
  end

  -- Arguments: the new mark (empty: none), and the level that programs need from then on.
  local function set_mark(keys, args)
    local p = keys[1]
    if args[1] == '' then call('DEL', p .. 'mark') else call('SET', p .. 'mark', args[1]) end
    call('SET', p .. 'needs_level', args[2])
    return 1
  end

  -- Gives each shard an epoch above that of the argument of its place, and no owner.
  local function raise_epochs(keys, args)
    local p, now = keys[1], micros()
    for i, epoch in ipairs(args) do
      local known = tonumber(epoch_of(call('HGET', p .. 'sh', digits(i - 1))))
      call('HSET', p .. 'sh', digits(i - 1), digits(math.max(known + 1, tonumber(epoch) + 1, now)) .. ' ')
    end
    return 1
  end

  register('ms_fill_executions', fill_executions, ADD)
  register('ms_fill_plans', fill_plans, ADD)
  register('ms_fill_jobs', fill_jobs, ADD)
  register('ms_mark', set_mark, END)
  register('ms_raise_epochs', raise_epochs, END)
end
