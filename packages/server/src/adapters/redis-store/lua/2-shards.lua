-- Ownership of shards. The hash `sh` has the epoch and the owner of each shard, as `1795000000000000 0199…`.

local OTHER_GENERATION = { err = 'MSGEN the server is not the one under which the store was opened' }

local function replication_id()
  return string.match(call('INFO', 'replication'), 'master_replid:(%x+)')
end

-- The generation of the store: the replication id of its server, the number of changes of that before, and the time of the last one in ms.
-- nil: after a failover or a restart no program has opened the store yet.
local function present_generation(p)
  local text = call('GET', p .. 'generation')
  return text and sub(text, 1, 40) == replication_id() and text or nil
end

-- Number of a generation; -1: there is none.
local function generation_number(text)
  return tonumber(string.match(text or '', '^%x+ (%d+)') or '-1')
end

local function micros()
  local time = call('TIME')
  return tonumber(time[1]) * 1000000 + tonumber(time[2])
end

local function epoch_of(holder)
  return holder and string.match(holder, '^%d+') or '0'
end

-- Raises the level that programs need to open the store, in the call that writes what older ones would misread. An empty text: none.
local function raise_level(p, level)
  if level ~= '' and tonumber(call('GET', p .. 'needs_level') or '1') < tonumber(level) then
    call('SET', p .. 'needs_level', level)
  end
end

-- Answers the commands among the arguments that the user may not call on keys of the store.
local function rights(keys, args)
  local key, lacking = keys[1] .. 'rights', {}
  for _, command in ipairs(args) do
    if not redis.acl_check_cmd(command, key, key, key) then lacking[#lacking + 1] = command end
  end
  return lacking
end

-- Opens the store for a connection. Arguments: the format of the program, its level, the level of the first program with such a store, the
-- generation that the caller has known (empty: none), and T if the caller moves a whole store; no other one opens a marked store. On another server than before, writes may be lost, also those that began a later
-- generation: a new one begins, and every shard gets a new epoch and no owner, so that each owner takes over again and reads the store.
-- Answers the generation.
local function open(keys, args)
  local p, format, level = keys[1], args[1], args[2]
  local known = call('GET', p .. 'format')
  if known and known ~= format then
    return { err = 'MSFORMAT the store has format ' .. known .. ', and this program writes format ' .. format }
  end
  local mark = call('GET', p .. 'mark')
  if mark and args[5] ~= 'T' then return { err = 'MSMARK ' .. mark } end
  local needed = call('GET', p .. 'needs_level') or args[3]
  if tonumber(needed) > tonumber(level) then
    return { err = 'MSLEVEL the store was used by a program of level ' .. needed .. ', and this program has level ' .. level }
  end
  if not known then call('SET', p .. 'format', format) end
  raise_level(p, args[3])
  call('SETNX', p .. 'tv', 1)
  local number, known_number = generation_number(call('GET', p .. 'generation')), generation_number(args[4])
  local present = present_generation(p)
  if present and (number > known_number or present == args[4]) then return present end
  local now, raised = micros(), {}
  local holders = call('HGETALL', p .. 'sh')
  for i = 1, #holders, 2 do
    raised[#raised + 1] = holders[i]
    raised[#raised + 1] = digits(math.max(tonumber(epoch_of(holders[i + 1])) + 1, now)) .. ' '
  end
  if #raised > 0 then call('HSET', p .. 'sh', unpack(raised)) end
  local begun = digits(math.max(number, known_number) + 1) .. ' ' .. digits(math.floor(now / 1000))
  call('SET', p .. 'generation', replication_id() .. ' ' .. begun)
  return replication_id() .. ' ' .. begun
end

-- Arguments: the owner, then for each shard its number, the epoch that the taker has seen, and the greatest that it has known.
local function take_over(keys, args)
  local p, owner = keys[1], args[1]
  local now, epochs, taken = micros(), {}, {}
  for i = 2, #args, 3 do
    local epoch = epoch_of(call('HGET', p .. 'sh', args[i]))
    if epoch == args[i + 1] then
      local raised = digits(math.max(tonumber(epoch) + 1, tonumber(args[i + 2]) + 1, now))
      epochs[#epochs + 1] = raised
      taken[#taken + 1] = args[i]
      taken[#taken + 1] = raised .. ' ' .. owner
    else
      epochs[#epochs + 1] = ''
    end
  end
  if #taken > 0 then call('HSET', p .. 'sh', unpack(taken)) end
  return epochs
end

-- Arguments: for each shard its number and the epoch of the caller.
local function release(keys, args)
  local p = keys[1]
  local released = {}
  for i = 1, #args, 2 do
    if epoch_of(call('HGET', p .. 'sh', args[i])) == args[i + 1] then
      released[#released + 1] = args[i]
      released[#released + 1] = args[i + 1] .. ' '
    end
  end
  if #released > 0 then call('HSET', p .. 'sh', unpack(released)) end
  return #released / 2
end
