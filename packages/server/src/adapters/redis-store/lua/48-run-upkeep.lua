-- Upkeep of runs of workflows. A run goes first, and its nodes follow: the set `rg` has the runs that are gone and have nodes left, and `rk`
-- with a run the later runs that keep nodes of it.
do
  local STATES = 6
  -- A workflow has one version.
  local FIRST_VERSION = '\0\0\0\1'

  -- Whether a run that is not final keeps nodes of the run, and so needs their results. Later runs that are final leave the set.
  function running.is_needed(p, run)
    local needed, over = false, {}
    local keepers = call('SMEMBERS', p .. 'rk' .. run)
    for n, record in ipairs(records(p, keepers)) do
      if record and byte(record, 7) ~= 0 then needed = true else over[#over + 1] = keepers[n] end
    end
    parts(over, function(...)
      call('SREM', p .. 'rk' .. run, ...)
    end)
    return needed
  end

  -- Takes a run whose execution is removed out of the lists. A run of a sub-workflow has no tenant here: the list of its parent goes with it.
  function running.remove(p, run, record, tenant)
    call('SADD', p .. 'rg', run)
    if tenant then call('ZREM', p .. 'rr' .. tenant, run) end
    local former = recurring.identity(record, 'R')
    if former then call('ZREM', p .. 'rt' .. former, run) end
  end

  -- Removes the graphs of a workflow, of which the row of its job has the sub-workflows.
  function running.forget_graphs(p, job, row)
    local nested = type(row.job) == 'table' and row.job.nested
    if type(nested) ~= 'table' then return end
    local names = { p .. 'b' .. job .. 'g' .. FIRST_VERSION }
    for n, id in ipairs(nested) do
      names[n + 1] = p .. 'b' .. recurring.id_bytes(id) .. 'g' .. FIRST_VERSION
    end
    parts(names, function(...)
      call('UNLINK', ...)
    end)
  end

  -- Removes what is left of a run without nodes.
  local function forget_rest(p, run)
    local names = {}
    local fields = call('HGETALL', p .. 'rn' .. run)
    for i = 1, #fields, 2 do
      if byte(fields[i]) == byte('s') then
        names[#names + 1] = p .. 'b' .. run .. 's' .. sub(fields[i], 2, 5) .. sub(fields[i + 1], 5, 8)
      end
    end
    for _, node in ipairs(call('SMEMBERS', p .. 'zn' .. run)) do
      for state = 0, STATES - 1 do
        names[#names + 1] = p .. 'z' .. run .. node .. char(state)
      end
    end
    for _, letters in ipairs({ 'rn', 'lo', 'zn', 'rc', 'rt', 'rk' }) do
      names[#names + 1] = p .. letters .. run
    end
    parts(names, function(...)
      call('UNLINK', ...)
    end)
    call('SREM', p .. 'rg', run)
  end

  -- Removes at most `left` nodes of a run that is gone, whatever their states are. Returns what is left of `left`.
  local function forget_some(p, run, left)
    for _, letters in ipairs({ 'ln', 'li' }) do
      local key = p .. letters .. run
      local members, ids = left > 0 and call('ZRANGE', key, 0, left - 1) or {}, {}
      left = left - #members
      for n, member in ipairs(members) do
        ids[n] = sub(member, 9, 24)
      end
      local removal = new_removal(p, ids)
      for n, record in ipairs(records(p, ids)) do
        if record then remove_execution(removal, ids[n], record) end
      end
      write_removal(removal)
      parts(members, function(...)
        call('ZREM', key, ...)
      end)
    end
    return left
  end

  -- Removes the next nodes of runs that are gone, and the rest of each run with the last ones. Arguments: runs of `rg`.
  local function forget_nodes(keys, args)
    local p, left = keys[1], RETIRED_MAX
    for _, run in ipairs(args) do
      left = forget_some(p, run, left)
      if left <= 0 then break end
      forget_rest(p, run)
      left = left - 1
    end
    return left
  end

  register('ms_forget_nodes', forget_nodes, END)
end
