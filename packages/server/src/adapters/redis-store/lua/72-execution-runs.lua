-- Runs over executions. The hash `er` has each run as the digest of its idempotency key (zeros: none) and a text, which only Node reads.
do
  -- Ended runs that one call removes.
  local OLD_RUNS = 100
  local NO_KEY = '\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0'

  local function forget_runs(p, tenant, before)
    local ended = 'erf' .. tenant
    for _, old in ipairs(call('ZRANGE', p .. ended, '-inf', '(' .. before, 'BYSCORE', 'LIMIT', 0, OLD_RUNS)) do
      local known = call('HGET', p .. 'er', old)
      if known then call('HDEL', p .. 'eri', sub(known, 1, 16)) end
      call('HDEL', p .. 'er', old)
      call('ZREM', p .. 'ert' .. tenant, old)
      call('ZREM', p .. ended, old)
    end
  end

  -- Arguments: the tenant, the id and the text of a new run, the digest of its idempotency key (empty: none), the largest number of open runs,
  -- the instant before which runs ended that are forgotten, and the notes. Answers 1, 0 (the run or its key is known), or -1 (too many).
  local function begin_execution_run(keys, args)
    local p, tenant, run, key = keys[1], args[1], args[2], args[4]
    local notes = read_notes(args, 6)
    if is_taken(p, notes) then return TAKEN end
    if call('HEXISTS', p .. 'er', run) == 1 or (key ~= '' and call('HEXISTS', p .. 'eri', key) == 1) then return 0 end
    if call('SCARD', p .. 'erc' .. tenant) >= tonumber(args[5]) then return -1 end
    forget_runs(p, tenant, args[6])
    call('HSET', p .. 'er', run, (key == '' and NO_KEY or key) .. args[3])
    if key ~= '' then call('HSET', p .. 'eri', key, run) end
    call('ZADD', p .. 'ero', 0, run)
    call('SADD', p .. 'erc' .. tenant, run)
    call('ZADD', p .. 'ert' .. tenant, 0, run)
    write_notes(p, notes)
    return 1
  end

  -- Changes a run, if its text is as read. Arguments: the tenant, the id, the text as read and afterwards, the end of the hold (empty: the run
  -- has ended), the time of the end, and the notes.
  local function change_execution_run(keys, args)
    local p, tenant, run, held, ended = keys[1], args[1], args[2], args[5], args[6]
    local notes = read_notes(args, 6)
    if is_taken(p, notes) then return TAKEN end
    local known = call('HGET', p .. 'er', run)
    if not known or sub(known, 17) ~= args[3] then return 0 end
    call('HSET', p .. 'er', run, sub(known, 1, 16) .. args[4])
    if held ~= '' then
      call('ZADD', p .. 'ero', held, run)
    else
      call('ZREM', p .. 'ero', run)
      call('SREM', p .. 'erc' .. tenant, run)
      call('ZADD', p .. 'erf' .. tenant, ended, run)
    end
    write_notes(p, notes)
    return 1
  end

  register('ms_begin_execution_run', begin_execution_run, ADD)
  register('ms_change_execution_run', change_execution_run, END)
end
