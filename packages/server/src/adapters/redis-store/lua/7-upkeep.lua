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

-- Removes an execution, but not its job. A run leaves the list of its tenant; tenant: nil if the execution is that of a node.
local function remove_execution(p, id, record, tenant)
  local flow, state = sub(record, 30, 33), byte(record, 2)
  for _, attempt in ipairs(call('SMEMBERS', p .. 'la' .. id)) do
    call('UNLINK', p .. 'lg' .. id .. attempt)
  end
  stepping.forget(p, id)
  call('UNLINK', p .. 'la' .. id, p .. 'e' .. id, p .. 'b' .. id .. 'r' .. sub(record, 3, 6))
  if call('ZREM', p .. 'f' .. flow .. char(state), id) == 1 and state == DEAD then
    call('HINCRBY', p .. 'n', flow .. 'D', -1)
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
-- Arguments: tenant, second, and the instants before which rows and dead letters have ended. Answers the ids that the second had.
local function retire(keys, args)
  local p, tenant, second = keys[1], args[1], args[2]
  local key = p .. 'x' .. tenant .. ':' .. second
  local all = call('GET', key) or ''
  local jobs, ids, kept = {}, {}, {}
  for i = 1, math.min(#all, 16 * RETIRED_MAX), 16 do
    jobs[#jobs + 1] = sub(all, i, i + 15)
    ids[#ids + 1] = first_execution(jobs[#jobs])
  end
  for n, record in ipairs(records(p, ids)) do
    local is_gone = not record
    if record and may_go(p, ids[n], record, args[3], args[4]) then
      remove_execution(p, ids[n], record, tenant)
      is_gone = true
    end
    if is_gone and call('EXISTS', p .. 'lm' .. jobs[n]) == 0 then
      recurring.forget_job(p, tenant, jobs[n])
    else
      kept[#kept + 1] = jobs[n]
    end
  end
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
