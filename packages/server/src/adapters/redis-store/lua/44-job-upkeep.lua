-- Upkeep of jobs that recur, and of executions that are not the first of their jobs.
do
  -- Removes all of a job but its executions.
  function recurring.forget_job(removal, tenant, job)
    local p = removal.p
    local text = call('GET', p .. 'j' .. job)
    if text then
      -- Texts that are no valid Unicode cannot be decoded. A name that stays in the index of such a job leads to nothing.
      local is_read, row = pcall(cjson.decode, text)
      if is_read and type(row.name) == 'string' then call('ZREM', p .. 'mo' .. tenant .. ':' .. row.name, job) end
      for _, version in ipairs(call('SMEMBERS', p .. 'pv' .. job)) do
        call('UNLINK', p .. 'b' .. job .. 'p' .. version)
      end
      if is_read then running.forget_graphs(p, job, row) end
      call('SREM', p .. 'pvj', job)
      call('UNLINK', p .. 'j' .. job, p .. 'pv' .. job)
    end
    append(removal.keys, 1, p .. 'b' .. job .. 'p\0\0\0\1')
  end

  -- Removes final executions among the first ids of a second, as `ms_retire` does. `hs` has the latest planned instant whose execution is gone.
  local function retire_later(keys, args)
    local p, tenant, second, left = keys[1], args[1], args[2], tonumber(args[5])
    local key = p .. 'y' .. tenant .. ':' .. second
    local all = call('GET', key) or ''
    local ids, kept = {}, {}
    for i = 1, math.min(#all, 16 * RETIRED_MAX), 16 do
      ids[#ids + 1] = sub(all, i, i + 15)
    end
    local removal, gone_until = new_removal(p, ids), ''
    for n, record in ipairs(records(p, ids)) do
      if record and left > 0 and may_go(p, ids[n], record, args[3], args[4]) then
        local instant = recurring.unlink(p, ids[n], record)
        if instant > gone_until then gone_until = instant end
        remove_execution(removal, ids[n], record, tenant)
        left = left - 1
      elseif record then
        kept[#kept + 1] = ids[n]
      end
    end
    write_removal(removal)
    if gone_until > (call('GET', p .. 'hs') or '') then call('SET', p .. 'hs', gone_until) end
    local rest = sub(all, 16 * #ids + 1) .. table.concat(kept)
    keep_rest(p, key, 'yb' .. tenant, second, all, rest)
    return #all / 16
  end

  -- Removes deleted recurring jobs that have no execution. Arguments: for each job its id and tenant.
  local function forget_recurring(keys, args)
    local p = keys[1]
    local removal = new_removal(p, {})
    for i = 1, #args, 2 do
      local job, tenant = args[i], args[i + 1]
      local is_deleted = call('ZSCORE', p .. 'jd', job)
      if is_deleted and call('EXISTS', p .. 'l' .. job, p .. 'lm' .. job) == 0 then
        recurring.forget_job(removal, tenant, job)
        call('UNLINK', p .. 'p' .. job, p .. 'q' .. job)
        call('ZREM', p .. 'jr' .. tenant, job)
        call('ZREM', p .. 'jd', job)
      end
    end
    write_removal(removal)
    return 1
  end

  register('ms_retire_later', retire_later, END)
  register('ms_forget_recurring', forget_recurring, END)
end
