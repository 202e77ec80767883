-- Records of handlers and signals. The hash `s<id>` has each record by its name: kind (1 byte), attempt and number (4 bytes each), time and
-- data. The hash `g<id>` has each signal by its id behind an s: O (open) or T (taken), time (6 bytes), digest of name and data (16), bytes of
-- the data (4), and for an open one its name and data. Its field # has the number and bytes of the open ones, and the newest time.
do
  local RESULT, CHECKPOINT, WAIT = 0, 1, 2

  -- Whether a record replaces the known one of its name, as domain/step.ts has it.
  local function replaces(record, known)
    if not known then return true end
    local kind = byte(known, 1)
    if kind == WAIT then return byte(record, 1) == RESULT end
    if kind ~= CHECKPOINT then return false end
    local attempt, former = u32(sub(record, 2)), u32(sub(known, 2))
    return attempt > former or (attempt == former and u32(sub(record, 6)) > u32(sub(known, 6)))
  end

  local function counts_of(p, id)
    local counts = call('HGET', p .. 'g' .. id, '#') or '0 0 0'
    local open, bytes, newest = string.match(counts, '^(%d+) (%d+) (%d+)$')
    return tonumber(open), tonumber(bytes), tonumber(newest)
  end

  local function write_counts(p, id, ...)
    local texts = {}
    for i = 1, 3 do
      texts[i] = digits((select(i, ...)))
    end
    call('HSET', p .. 'g' .. id, '#', table.concat(texts, ' '))
  end

  -- Marks a signal as consumed. Its name and data are no longer needed: a repeat is known by the digest.
  local function take(p, id, signal)
    local field = 's' .. signal
    local known = call('HGET', p .. 'g' .. id, field)
    if not known or sub(known, 1, 1) ~= 'O' then return end
    local open, bytes, newest = counts_of(p, id)
    call('HSET', p .. 'g' .. id, field, 'T' .. sub(known, 2, 27))
    write_counts(p, id, open - 1, bytes - u32(sub(known, 24)), newest)
  end

  -- Reads the records of one shard from the arguments behind `at`: their number, the level that programs need, and for each its execution,
  -- name, record and signal. Returns the index of the last argument.
  function stepping.read(args, at, asked)
    asked.steps, asked.left, asked.steps_level = {}, {}, args[at + 2]
    local i = at + 2
    for n = 1, tonumber(args[at + 1]) do
      asked.steps[n] = { id = args[i + 1], name = args[i + 2], record = args[i + 3], signal = args[i + 4] }
      i = i + 4
    end
    return i
  end

  -- Writes the records that count, but none of an execution whose change the commit misses. Adds the results that do not count to
  -- `asked.unrecorded`, because the commit may tell events of them.
  function stepping.write(p, asked)
    local unrecorded = {}
    for _, step in ipairs(asked.steps) do
      local key = p .. 's' .. step.id
      if not asked.left[step.id] and replaces(step.record, call('HGET', key, step.name)) then
        call('HSET', key, step.name, step.record)
        if step.signal ~= '' then take(p, step.id, step.signal) end
      elseif byte(step.record, 1) == RESULT then
        unrecorded[#unrecorded + 1] = id_text(step.id) .. '/' .. step.name
      end
    end
    asked.unrecorded = unrecorded
    if #asked.steps > 0 then raise_level(p, asked.steps_level) end
  end

  -- Removes the records and signals of an execution, and the signals to the nodes of a run.
  function stepping.forget(p, id)
    call('UNLINK', p .. 's' .. id, p .. 'g' .. id)
    for _, node in ipairs(call('SMEMBERS', p .. 'gr' .. id)) do
      call('UNLINK', p .. 'g' .. node)
    end
    call('UNLINK', p .. 'gr' .. id)
  end

  -- Keeps a signal, and adds its command. Arguments: the execution, the run of its node (empty: none), id, time in ms, digest, name with data,
  -- bytes of the data, largest number of open signals and of their bytes, the level that programs need, and shard, id and text of the command.
  -- Answers A (accepted) and R (repeated) with the time, or I (id reused), M (too many), F (final) and U (unknown).
  local function signal(keys, args)
    local p, id, run, field = keys[1], args[1], args[2], 's' .. args[3]
    local row = call('GET', p .. 'e' .. id) or (run ~= '' and call('GET', p .. 'e' .. run))
    if not row then return 'U' end
    local known = call('HGET', p .. 'g' .. id, field)
    if known then
      return sub(known, 8, 23) == args[5] and 'R' .. digits((unpack_bytes('>I6', known, 2))) or 'I'
    end
    if byte(row, 7) == 0 then return 'F' end
    local open, bytes, newest = counts_of(p, id)
    local size = tonumber(args[7])
    if open >= tonumber(args[8]) or bytes + size > tonumber(args[9]) then return 'M' end
    local at = math.max(tonumber(args[4]), newest + 1)
    call('HSET', p .. 'g' .. id, field, 'O' .. struct.pack('>I6', at) .. args[5] .. struct.pack('>I4', size) .. args[6])
    write_counts(p, id, open + 1, bytes + size, at)
    if run ~= '' then call('SADD', p .. 'gr' .. run, id) end
    if call('HSETNX', p .. 'c' .. args[11], args[12], args[13]) == 1 then call('ZADD', p .. 'ci' .. args[11], 0, args[12]) end
    raise_level(p, args[10])
    return 'A' .. digits(at)
  end

  register('ms_signal', signal, ADD)
end
