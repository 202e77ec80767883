-- Rows that one call of upkeep looks at.
local RETIRED_MAX = 500

local function is_over(record, keep, keep_dead)
  if byte(record, 7) ~= 0 or not is_changed(record) then return false end
  local ended = sub(record, 71, 76)
  if ended == '\255\255\255\255\255\255' then ended = sub(record, 77, 82) end
  return ended < (byte(record, 2) == DEAD and keep_dead or keep)
end

-- Whether upkeep removes an execution: one that ended long ago, unless it is a run from which an open one keeps nodes.
local function may_go(p, id, record, keep, keep_dead)
  return is_over(record, keep, keep_dead) and not (running.is_run(record) and running.is_needed(p, id))
end

-- Number of keys that exist among those of the letters with each id.
local function existing(p, letters, ids)
  local keys, there = {}, 0
  for _, name in ipairs(letters) do
    for _, id in ipairs(ids) do
      keys[#keys + 1] = p .. name .. id
    end
  end
  parts(keys, function(...)
    there = there + call('EXISTS', ...)
  end)
  return there
end

-- Removals of executions with these ids, and of their jobs, which `write_removal` makes at once.
local function new_removal(p, ids)
  -- Few executions have log lines, records or signals.
  return { p = p, keys = {}, queues = new_queues(p), has_more = existing(p, { 'la', 's', 'g', 'gr' }, ids) > 0 }
end

local function write_removal(removal)
  parts(removal.keys[1] or {}, function(...)
    call('UNLINK', ...)
  end)
  write_queues(removal.queues)
end

-- Removes an execution, but not its job. A run leaves the list of its tenant; tenant: nil if the execution is that of a node.
local function remove_execution(removal, id, record, tenant)
  local p, flow, state = removal.p, sub(record, 30, 33), byte(record, 2)
  enqueue(removal.queues, id, record, -1)
  if removal.has_more then
    for _, attempt in ipairs(call('SMEMBERS', p .. 'la' .. id)) do
      call('UNLINK', p .. 'lg' .. id .. attempt)
    end
    call('UNLINK', p .. 'la' .. id)
    stepping.forget(p, id)
  end
  append(removal.keys, 1, p .. 'e' .. id, p .. 'b' .. id .. 'r' .. sub(record, 3, 6))
  local is_listed = state == DEAD or state == CANCELLED or state == SKIPPED
  if is_listed and call('ZREM', p .. 'f' .. flow .. char(state), id) == 1 and state == DEAD then
    count(removal.queues, flow, LETTERS, -1)
  end
  if running.is_run(record) then running.remove(p, id, record, tenant) end
end

-- Writes what is left of the ids of a second, which had `all`, and forgets a second that has none.
local function keep_rest(p, key, index, second, all, rest)
  if rest == '' then
    call('UNLINK', key)
    call('ZREM', p .. index, second)
  elseif #rest < #all or #all > 16 * RETIRED_MAX then
    call('SET', key, rest)
  end
end

-- Removes final rows among the first ids of a second, and puts the ids of the others behind the rest, so that the next call sees those. A
-- job stays for as long as one of its executions.
-- Arguments: tenant, second, the instants before which rows and dead letters have ended, and the largest number of rows to remove. Answers the
-- ids that the second had.
local function retire(keys, args)
  local p, tenant, second, left = keys[1], args[1], args[2], tonumber(args[5])
  local key = p .. 'x' .. tenant .. ':' .. second
  local all = call('GET', key) or ''
  local jobs, ids, kept = {}, {}, {}
  for i = 1, math.min(#all, 16 * RETIRED_MAX), 16 do
    jobs[#jobs + 1] = sub(all, i, i + 15)
    ids[#ids + 1] = first_execution(jobs[#jobs])
  end
  local removal, has_later = new_removal(p, ids), existing(p, { 'lm' }, jobs) > 0
  for n, record in ipairs(records(p, ids)) do
    local is_gone = not record
    if record and left > 0 and may_go(p, ids[n], record, args[3], args[4]) then
      remove_execution(removal, ids[n], record, tenant)
      is_gone, left = true, left - 1
    end
    if is_gone and not (has_later and call('EXISTS', p .. 'lm' .. jobs[n]) == 1) then
      recurring.forget_job(removal, tenant, jobs[n])
    else
      kept[#kept + 1] = jobs[n]
    end
  end
  write_removal(removal)
  local rest = sub(all, 16 * #jobs + 1) .. table.concat(kept)
  keep_rest(p, key, 'xb' .. tenant, second, all, rest)
  return #all / 16
end

-- Forgets the idempotency keys of a second.
local function forget_keys(keys, args)
  local p, second = keys[1], args[1]
  local key, digests = p .. 'ix:' .. second, {}
  local all = call('GET', key) or ''
  for i = 1, math.min(#all, 16 * RETIRED_MAX), 16 do
    digests[#digests + 1] = sub(all, i, i + 15)
  end
  parts(digests, function(...)
    call('HDEL', p .. 'i', ...)
  end)
  local rest = sub(all, 16 * #digests + 1)
  keep_rest(p, key, 'ixb', second, all, rest)
  return #rest / 16
end

-- Removes bodies that no call has named since an instant. Answers their number.
local function drop_bodies(keys, args)
  local p = keys[1]
  local names = call('ZRANGE', p .. 'bodies', '-inf', args[1], 'BYSCORE', 'LIMIT', 0, RETIRED_MAX)
  for _, name in ipairs(names) do
    call('UNLINK', p .. name)
    call('ZREM', p .. 'bodies', name)
  end
  return #names
end
