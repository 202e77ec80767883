#!lua name=ms_v1
-- Functions of the store on Redis; docs/internals/redis-store.md has the layout of keys and records. The adapter joins the files of this
-- folder in the order of their numbers. Each function reads, decides, and only then writes, because an error rolls nothing back.

-- Redis has no globals but `redis` while it loads a library, so `register` fills these in at the first call of a function.
local call, sub, byte, char, unpack_bytes

-- Arguments of one command: the stack of Lua holds some thousands.
local PER_COMMAND = 1000

-- Codes of states and queues in records, as record.ts has them.
local PENDING, DEAD, CANCELLED, SKIPPED = 0, 3, 4, 5
local WAITING, READY, HELD, OPEN, PARKED = 1, 2, 3, 4, 5

-- Bytes of the head of a record before and after its first change.
local NEW_HEAD, HEAD = 44, 88

-- Functions of later files for jobs that recur and for executions that are not the first of their jobs.
local recurring = {}

-- Id of the first execution of a job that runs once: one bit differs.
local function first_execution(job)
  return sub(job, 1, 10) .. char((byte(job, 11) + 128) % 256) .. sub(job, 12)
end
-- Functions of a later file for runs of workflows and the executions of their nodes.
local running = {}
-- Functions of later files for lifecycle events and deliveries.
local telling = {}

-- Text of a whole number of any size: tostring rounds beyond 14 digits.
local function digits(number)
  return string.format('%.0f', number)
end

-- Text of an id.
local function id_text(id)
  local hex = string.gsub(id, '.', function(letter)
    return string.format('%02x', byte(letter))
  end)
  return (string.gsub(hex, '^(%x%x%x%x%x%x%x%x)(%x%x%x%x)(%x%x%x%x)(%x%x%x%x)', '%1-%2-%3-%4-'))
end

-- Number of the first four bytes.
local function u32(bytes)
  return (unpack_bytes('>I4', bytes))
end

-- Calls `send` with parts of a list.
local function parts(list, send)
  for from = 1, #list, PER_COMMAND do
    send(unpack(list, from, math.min(from + PER_COMMAND - 1, #list)))
  end
end

-- Records of executions, in the order of the ids; false: there is none.
local function records(p, ids)
  local found = {}
  local keys = {}
  for i, id in ipairs(ids) do
    keys[i] = p .. 'e' .. id
  end
  parts(keys, function(...)
    for _, record in ipairs(call('MGET', ...)) do
      found[#found + 1] = record
    end
  end)
  return found
end

-- Adds one or two values to a list of lists.
local function append(lists, key, first, second)
  local list = lists[key]
  if list == nil then
    list = {}
    lists[key] = list
  end
  local length = #list
  list[length + 1] = first
  list[length + 2] = second
end

-- Adds all values of a list to a list of lists.
local function append_all(lists, key, values)
  for _, value in ipairs(values) do
    append(lists, key, value)
  end
end

-- Changes of the indexes of queues, which `write_queues` makes at once.
local function new_queues(p)
  return { p = p, out = {}, into = {}, held = {}, freed = {}, flows = {}, lanes = {}, counts = {}, history = 0 }
end

-- Adds to a counter of a flow: a code of a queue, or that of the letter D.
local function count(queues, flow, code, by)
  local counts = queues.counts[code]
  if counts == nil then
    counts = {}
    queues.counts[code] = counts
  end
  counts[flow] = (counts[flow] or 0) + by
end

-- Code of the counter of dead letters.
local LETTERS = 68

-- Takes a record into the index of its queue (by = 1), or out of it (by = -1). Final ones that are no dead letters are counted instead.
local function enqueue(queues, id, record, by)
  local queue, flow = byte(record, 7), sub(record, 30, 33)
  if queue == WAITING then
    local key, member = queues.flows[flow], sub(record, 17, 22) .. id .. sub(record, 16, 16)
    if key == nil then
      key = queues.p .. 'w' .. flow
      queues.flows[flow] = key
    end
    if by == 1 then append(queues.into, key, 0, member) else append(queues.out, key, member) end
  elseif queue == READY then
    local lane, member = sub(record, 23, 29), sub(record, 8, 15) .. id .. sub(record, 16, 16)
    local key = queues.lanes[lane]
    if key == nil then
      key = queues.p .. 'r' .. lane
      queues.lanes[lane] = key
    end
    if by == 1 then append(queues.into, key, 0, member) else append(queues.out, key, member) end
  elseif queue == HELD then
    append(by == 1 and queues.held or queues.freed, queues.p .. 'h' .. byte(record, 16), id)
  elseif queue == OPEN then
    local key, member = queues.p .. 'o' .. byte(record, 16), sub(record, 17, 22) .. id
    if by == 1 then append(queues.into, key, 0, member) else append(queues.out, key, member) end
    -- Runs that hold a place of their concurrency key are an index of their own.
    if byte(record, 1) >= 4 then append(by == 1 and queues.held or queues.freed, queues.p .. 'ok' .. byte(record, 16), id) end
  else
    if queue == 0 and byte(record, 2) ~= DEAD then queues.history = queues.history + by end
    return
  end
  count(queues, flow, queue, by)
end

local function write_lists(command, lists)
  for key, list in pairs(lists) do
    parts(list, function(...)
      call(command, key, ...)
    end)
  end
end

local function write_queues(queues)
  local p = queues.p
  write_lists('ZREM', queues.out)
  write_lists('SREM', queues.freed)
  write_lists('ZADD', queues.into)
  write_lists('SADD', queues.held)
  for flow, key in pairs(queues.flows) do
    local head = call('ZRANGE', key, '-', '+', 'BYLEX', 'LIMIT', 0, 1)[1]
    if head then
      call('ZADD', p .. 'wh', digits((unpack_bytes('>I6', head))), flow)
    else
      call('ZREM', p .. 'wh', flow)
    end
  end
  for lane, key in pairs(queues.lanes) do
    if call('EXISTS', key) == 1 then call('ZADD', p .. 'rl', 0, lane) else call('ZREM', p .. 'rl', lane) end
  end
  for code, counts in pairs(queues.counts) do
    for flow, by in pairs(counts) do
      if by ~= 0 then call('HINCRBY', p .. 'n', flow .. char(code), by) end
    end
  end
  if queues.history ~= 0 then call('INCRBY', p .. 'hn', digits(queues.history)) end
end

-- Reads the records of the audit log from the arguments behind `at`: their number, and for each its place, its member of the
-- order (26 bytes) with its hash (64 characters) and its tenant, and its text.
local function read_notes(args, at)
  local notes = {}
  for n = 1, tonumber(args[at + 1] or 0) do
    local first = at + 2 + 3 * (n - 1)
    local member = args[first + 1]
    notes[n] = {
      place = args[first],
      member = sub(member, 1, 26),
      hash = sub(member, 27, 90),
      tenant = sub(member, 91),
      text = args[first + 2],
    }
  end
  return notes
end

-- Whether another call has settled a place, so that the caller of this one has given up.
local function is_taken(p, notes)
  for _, note in ipairs(notes) do
    if call('HEXISTS', p .. 'au', note.place) == 1 then return true end
  end
  return false
end

local TAKEN = { err = 'MSTAKEN another call has settled the place in the audit log' }

local function write_notes(p, notes)
  for _, note in ipairs(notes) do
    call('HSET', p .. 'au', note.place, note.text)
    call('ZADD', p .. 'ax', 0, note.member)
    call('ZADD', p .. 'axt' .. note.tenant, 0, note.member)
    local chain, seq = sub(note.place, 1, 16), sub(note.place, 17)
    local head = call('HGET', p .. 'ah', chain)
    if not head or u32(head) < u32(seq) then call('HSET', p .. 'ah', chain, seq .. note.hash) end
  end
end

-- Parts of a text that have the same length, in order.
local function cut(text, length)
  local found = {}
  for i = 1, #text, length do
    found[#found + 1] = sub(text, i, i + length - 1)
  end
  return found
end

-- Names of bodies in a text. Names of payloads and of graphs have the same length.
local function names_in(text)
  return cut(text, 22)
end

-- Whether bodies were written for this call and upkeep has not removed them.
local function has_bodies(p, names)
  for _, name in ipairs(names) do
    if not call('ZSCORE', p .. 'bodies', name) then return false end
  end
  return true
end

local BODY_GONE = { err = 'MSBODY the bodies of the call were removed, because it came an hour late' }

local function keep_bodies(p, names)
  parts(names, function(...)
    call('ZREM', p .. 'bodies', ...)
  end)
end
