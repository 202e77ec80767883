-- Plans of recurring jobs, and executions that are not the first of their jobs.
do
  local ACTIVE, PAUSED, DELETED = 0, 1, 3
  local NEVER = '\255\255\255\255\255\255'
  -- Codes of the triggers of planned instants.
  local SCHEDULE, BACKFILL = 2, 4

  function recurring.new_writes(p)
    local plans = { p = p, into = {}, out = {}, flows = {}, counts = {}, zones = {} }
    local writes = { values = {}, fields = {}, sorted = {}, sets = {}, later = {}, plans = plans, claimed = {}, born = {} }
    writes.states, writes.bits = {}, {}
    return writes
  end

  -- Takes a plan into its indexes (by = 1), or out of them (by = -1). A record has the revision (4 bytes), the shard, the flow (4 bytes), the
  -- state, the next instant (6 bytes), whether the plan waits for an execution, and the tag of the time zone data with its length.
  local function index_plan(plans, job, plan, by)
    local p, state, flow, shard = plans.p, byte(plan, 10), sub(plan, 6, 9), byte(plan, 5)
    local function list(key, member)
      if by == 1 then append(plans.into, key, 0, member) else append(plans.out, key, member) end
    end
    if state == ACTIVE and sub(plan, 11, 16) ~= NEVER then
      plans.flows[flow] = p .. 'pd' .. flow
      list(plans.flows[flow], sub(plan, 11, 16) .. job .. char(shard))
    end
    if byte(plan, 17) == 1 then list(p .. 'pa' .. shard, job) end
    if state == ACTIVE or state == PAUSED then
      local zone = sub(plan, 19, 18 + byte(plan, 18))
      plans.zones[zone] = true
      list(p .. 'pz' .. shard .. ':' .. zone, job)
    end
    if state ~= DELETED then plans.counts[flow .. 'J'] = (plans.counts[flow .. 'J'] or 0) + by end
  end

  -- Adds the change of a plan; before: false if there was none.
  function recurring.put_plan(writes, job, before, after)
    append(writes.values, 1, writes.plans.p .. 'p' .. job, after)
    if before then index_plan(writes.plans, job, before, -1) end
    index_plan(writes.plans, job, after, 1)
  end

  -- Bytes of an id.
  function recurring.id_bytes(text)
    local hex = string.gsub(text, '-', '')
    return (string.gsub(hex, '%x%x', function(two)
      return char(tonumber(two, 16))
    end))
  end

  -- The id in a field of the identity of an execution; nil: it has none.
  function recurring.identity(record, letter)
    local head = byte(record, 1) % 2 == 1 and HEAD or NEW_HEAD
    if #record == head then return nil end
    local at = head + 7 + unpack_bytes('>I2', record, head + 5)
    local last = part_end(record, head + 1)
    while at <= last do
      local length = unpack_bytes('>I4', record, at + 1)
      if sub(record, at, at) == letter then return recurring.id_bytes(sub(record, at + 5, at + 4 + length)) end
      at = at + 5 + length
    end
  end

  -- The job or the run of an execution, if its id does not follow from that of the execution.
  local function own_job(record)
    if running.is_node(record) then return (running.place(record)) end
    return recurring.identity(record, 'J')
  end

  -- Index of the executions of a job, and the member of one. Those of planned instants have an index of their own.
  local function place(job, id, record)
    local trigger = byte(record, 44) % 128
    local scheduled = byte(record, 1) % 2 == 1 and sub(record, 45, 50) or sub(record, 17, 22)
    if trigger == SCHEDULE or trigger == BACKFILL then return 'l' .. job, scheduled .. id end
    -- The scheduled time of a job that runs once may change, and the time of the id does not.
    if byte(job, 1) < 128 then scheduled = sub(id, 1, 6) end
    return 'lm' .. job, scheduled .. id
  end

  -- Adds an execution to the indexes of those that are not the first of their jobs.
  function recurring.index(p, writes, job, id, record, tenant)
    local key, member = place(job, id, record)
    append(writes.sorted, p .. key, 0, member)
    if byte(record, 7) ~= 0 then append(writes.sets, p .. 'lo' .. job, id) end
    local second = digits(math.floor(unpack_bytes('>I6', id) / 1000))
    local name = tenant .. ':' .. second
    writes.later[name] = writes.later[name] or { tenant = tenant, second = second, ids = {} }
    local ids = writes.later[name].ids
    ids[#ids + 1] = id
    if running.is_run(record) then running.add(p, writes, id, record, tenant, job) end
  end

  -- Takes an execution that has ended out of the open ones of its job.
  function recurring.close(p, lists, id, record)
    local job = own_job(record)
    if job then append(lists, p .. 'lo' .. job, id) end
  end

  -- Takes an execution that upkeep removes out of the indexes. Returns its planned instant; empty: it has none.
  function recurring.unlink(p, id, record)
    local job = own_job(record)
    if not job then return '' end
    local key, member = place(job, id, record)
    call('ZREM', p .. key, member)
    return sub(key, 1, 2) ~= 'lm' and sub(member, 1, 6) or ''
  end

  -- Adds a new recurring job.
  function recurring.stage(p, writes, job)
    recurring.put_plan(writes, job.job, false, job.record)
    append(writes.values, 1, p .. 'j' .. job.job, job.more)
    if job.unique ~= '' then append(writes.fields, p .. 'm', job.unique, job.job) end
    append(writes.sorted, p .. 'jr', 0, job.job)
    append(writes.sorted, p .. 'jr' .. job.tenant, 0, job.job)
  end

  local function write_plans(plans)
    write_lists('ZREM', plans.out)
    write_lists('ZADD', plans.into)
    for flow, key in pairs(plans.flows) do
      local head = call('ZRANGE', key, '-', '+', 'BYLEX', 'LIMIT', 0, 1)[1]
      if head then
        call('ZADD', plans.p .. 'ph', digits((unpack_bytes('>I6', head))), flow)
      else
        call('ZREM', plans.p .. 'ph', flow)
      end
    end
    for zone in pairs(plans.zones) do call('SADD', plans.p .. 'pzv', zone) end
    for field, by in pairs(plans.counts) do
      if by ~= 0 then call('HINCRBY', plans.p .. 'n', field, by) end
    end
  end

  function recurring.write_indexes(p, writes)
    write_lists('ZADD', writes.sorted)
    write_lists('SADD', writes.sets)
    for name, second in pairs(writes.later) do
      call('APPEND', p .. 'y' .. name, table.concat(second.ids))
      call('ZADD', p .. 'yb' .. second.tenant, second.second, second.second)
      call('SADD', p .. 'xt', second.tenant)
    end
    write_plans(writes.plans)
    running.write_states(p, writes)
  end

  function recurring.write(p, writes)
    parts(writes.values[1] or {}, function(...)
      call('MSET', ...)
    end)
    write_lists('HSET', writes.fields)
    recurring.write_indexes(p, writes)
    if writes.queues then write_queues(writes.queues) end
  end
end
