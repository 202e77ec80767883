-- Functions of a later file for the records of handlers.
local stepping = {}

-- Length of a part with its length of four bytes, which begins at `at`.
local function part_end(record, at)
  return at + 3 + unpack_bytes('>I4', record, at)
end

-- The parts of a record behind its head: identity and copy of the job as they are, and the attempts that have ended.
local function tail_of(record, head)
  if #record == head then return '\0\0\0\0\0\0\0\0', '' end
  local copied = part_end(record, part_end(record, head + 1) + 1)
  return sub(record, head + 1, copied), sub(record, copied + 5, part_end(record, copied + 1))
end

-- The unique key that a record holds; nil: none.
local function unique_of(record, head)
  if #record == head then return nil end
  local length = unpack_bytes('>I2', record, head + 5)
  return length > 0 and sub(record, head + 7, head + 6 + length) or nil
end

local function is_changed(record)
  return byte(record, 1) % 2 == 1
end

-- Length of an empty part.
local NO_BYTES = '\0\0\0\0'

-- The record after a change; `change` has the fixed fields as commit.ts packs them. `replaced` is empty, or has the fields of a newer
-- definition: lane, flow, kind, scheduled time, version, and the copy of the job.
local function changed(record, change, ended, rest, replaced)
  local was = is_changed(record)
  local identity, attempts = tail_of(record, was and HEAD or NEW_HEAD)
  -- Lane, flow, kind and the time of creation with the origin follow each other.
  local from_job, scheduled = sub(record, 23, 44), was and sub(record, 45, 50) or sub(record, 17, 22)
  local version = was and sub(record, 83, 86) or '\0\0\0\1'
  if replaced ~= '' then
    from_job, scheduled, version = sub(replaced, 1, 15) .. sub(record, 38, 44), sub(replaced, 16, 21), sub(replaced, 22, 25)
    identity = sub(identity, 1, part_end(identity, 1)) .. struct.pack('>I4', #replaced - 25) .. sub(replaced, 26)
  end
  if attempts ~= '' and ended ~= '' then attempts = attempts .. ',' end
  attempts = attempts .. ended
  if running.is_node(record) and sub(rest, 1, 1) ~= 'n' then rest = running.branch(record) .. rest end
  local steps = sub(change, 74, 74)
  if steps == '\255' then steps = was and sub(record, 87, 87) or '\0' end
  local flags = was and sub(record, 1, 1) or char(byte(record, 1) + 1)
  local length = attempts == '' and NO_BYTES or struct.pack('>I4', #attempts)
  return flags
    .. sub(change, 22, 35)
    .. sub(record, 16, 16)
    .. sub(change, 36, 41)
    .. from_job
    .. scheduled
    .. sub(change, 42, 73)
    .. version
    .. steps
    .. '\0'
    .. identity
    .. length
    .. attempts
    .. rest
end

-- Reads the parts of one shard from the arguments behind `at`. Returns them and the index of the last argument.
local function read_shard(args, at)
  local asked = { shard = args[at + 1], epoch = args[at + 2], expected = args[at + 3], changes = {}, settled = {}, done = {} }
  asked.number = tonumber(asked.shard)
  local i = at + 4
  for n = 1, tonumber(args[i]) do
    asked.changes[n] = { fixed = args[i + 1], ended = args[i + 2], rest = args[i + 3], body = args[i + 4], replaced = args[i + 5] }
    i = i + 5
  end
  asked.journal, asked.entries = args[i + 1], args[i + 2]
  i = i + 3
  for n = 1, tonumber(args[i]) do
    asked.settled[n] = args[i + n]
  end
  i = i + #asked.settled + 1
  for n = 1, tonumber(args[i]) do
    asked.done[n] = args[i + n]
  end
  asked.plans, i = recurring.read_plans(args, i + #asked.done)
  i = running.read(args, i, asked)
  i = stepping.read(args, i, asked)
  return asked, telling.read(args, i, asked)
end

local function is_expected(record, attempt)
  return record and byte(record, 2) == PENDING and sub(record, 3, 6) == attempt and byte(record, 7) ~= PARKED
end

local function fits(record, asked, fixed)
  return record and sub(record, 2, 6) == sub(fixed, 17, 21) and byte(record, 16) == asked.number
end

-- Decides about one shard: adds its changes to the writes, and returns the ids that it misses.
local function stage_shard(p, asked, writes)
  local ids, missed = {}, {}
  for i = 1, #asked.expected, 20 do
    ids[#ids + 1] = sub(asked.expected, i, i + 15)
  end
  for _, change in ipairs(asked.changes) do
    ids[#ids + 1] = sub(change.fixed, 1, 16)
  end
  local found = records(p, ids)
  local expected = #ids - #asked.changes
  for n = 1, expected do
    local at = 20 * n - 3
    if not is_expected(found[n], sub(asked.expected, at, at + 3)) then missed[#missed + 1] = ids[n] end
  end
  for n, change in ipairs(asked.changes) do
    local id, before = ids[expected + n], found[expected + n]
    if fits(before, asked, change.fixed) then
      local after = changed(before, change.fixed, change.ended, change.rest, change.replaced)
      writes.rows[#writes.rows + 1] = { id = id, before = before, after = after }
      asked.updated[id] = true
      if change.body ~= '' then writes.bodies[#writes.bodies + 1] = change.body end
      if byte(change.fixed, 75) == 1 then append(writes.released, 1, unique_of(after, HEAD) or '', id) end
    else
      missed[#missed + 1] = id
      asked.left[id] = true
      -- A result that is told again has the body of the one that the row names, which upkeep must not remove.
      local is_same = before and change.body ~= '' and sub(before, 3, 6) == sub(change.body, -4)
      if is_same then writes.bodies[#writes.bodies + 1] = change.body end
    end
  end
  asked.missed = missed
  running.stage_spawns(p, asked, writes)
  return table.concat(missed)
end

-- Unique keys that the changes free: those that their executions hold.
local function freed_keys(p, released)
  local freed = {}
  for i = 1, #released, 2 do
    local holder = released[i] ~= '' and call('HGET', p .. 'u', released[i])
    if holder and sub(holder, 17, 32) == released[i + 1] then freed[#freed + 1] = released[i] end
  end
  return freed
end

local function write_rows(p, writes)
  local values, queues, ends, freed = {}, new_queues(p), {}, {}
  for _, row in ipairs(writes.rows) do
    local after, state = row.after, byte(row.after, 2)
    values[#values + 1] = p .. 'e' .. row.id
    values[#values + 1] = after
    enqueue(queues, row.id, row.before, -1)
    enqueue(queues, row.id, after, 1)
    if byte(after, 7) == 0 then recurring.close(p, freed, row.id, after) end
    if running.is_node(after) then
      -- The run is the dead letter, and not its nodes.
      running.move(p, writes, row.before, after)
    elseif state == DEAD or state == CANCELLED or state == SKIPPED then
      local flow = sub(after, 30, 33)
      append(ends, p .. 'f' .. flow .. char(state), 0, row.id)
      if state == DEAD then count(queues, flow, LETTERS, 1) end
    end
  end
  parts(values, function(...)
    call('MSET', ...)
  end)
  write_lists('ZADD', ends)
  write_lists('SREM', freed)
  write_queues(queues)
end

local function write_shard(p, asked)
  local journals = p .. 'jn' .. asked.shard
  parts(asked.settled, function(...)
    call('HDEL', journals, ...)
  end)
  if asked.journal ~= '' then call('HSET', journals, asked.journal, asked.entries) end
  parts(asked.done, function(...)
    call('HDEL', p .. 'c' .. asked.shard, ...)
    call('ZREM', p .. 'ci' .. asked.shard, ...)
  end)
end

-- Arguments: for each shard its number, epoch, expected rows, changes, journal entry, settled journal entries, applied commands, plans,
-- runs with nodes and commands, records of handlers, and events.
-- Answers for each shard: F (fenced), or A with the ids that it missed, the plans that it missed, the executions that it did not create, the
-- runs that it missed, the nodes that it did not create, and for each command its shard and 1, or 0 if it was not added.
local function commit(keys, args)
  local p, i = keys[1], 0
  local outcomes, applied = {}, {}
  local writes = recurring.new_writes(p)
  writes.rows, writes.bodies, writes.released = {}, {}, {}
  while i < #args do
    local asked
    asked, i = read_shard(args, i)
    if epoch_of(call('HGET', p .. 'sh', asked.shard)) == asked.epoch then
      asked.outcome = { 'A' .. stage_shard(p, asked, writes), recurring.stage_plans(p, asked, writes) }
      outcomes[#outcomes + 1] = asked.outcome
      applied[#applied + 1] = asked
    else
      outcomes[#outcomes + 1] = { 'F' }
    end
  end
  if not has_bodies(p, writes.bodies) then return BODY_GONE end
  local refusal = telling.refusal(p, applied)
  if refusal then return refusal end
  local freed = freed_keys(p, writes.released[1] or {})
  recurring.stage_created(p, applied, writes, freed)
  running.stage(p, applied, writes)
  write_rows(p, writes)
  parts(freed, function(...)
    call('HDEL', p .. 'u', ...)
  end)
  recurring.write(p, writes)
  for _, asked in ipairs(applied) do
    write_shard(p, asked)
    stepping.write(p, asked)
    telling.write(p, asked)
    asked.outcome[6] = running.add_commands(p, asked)
  end
  keep_bodies(p, writes.bodies)
  return outcomes
end
