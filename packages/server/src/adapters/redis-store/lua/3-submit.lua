-- Numbers of kinds and flows, which records name. A number is never used again, also not one that the store has given and lost: each
-- generation has numbers of its own.
local KINDS_MAX, PER_GENERATION = 1000000, 100000

-- Tenant of a flow, whose text is a list of the tenant and the pool; nil: the text is that of a kind.
local function tenant_of_flow(text)
  local is_json, list = pcall(cjson.decode, text)
  return is_json and #list == 2 and list[1] or nil
end

local function kinds(keys, args)
  local p = keys[1]
  local numbers, fresh = call('HMGET', p .. 'kn', unpack(args)), {}
  local last = math.max(tonumber(call('GET', p .. 'kl') or '0'), PER_GENERATION * generation_number(keys[2]))
  for i, text in ipairs(args) do
    if not numbers[i] then
      last = last + 1
      numbers[i] = digits(last)
      fresh[#fresh + 1] = { numbers[i], text, tenant_of_flow(text) }
    end
  end
  if #fresh > 0 and call('HLEN', p .. 'k') + #fresh > KINDS_MAX then return { err = 'MSKINDS the store has a million kinds of jobs' } end
  if #fresh > 0 then call('SET', p .. 'kl', digits(last)) end
  for _, kind in ipairs(fresh) do
    call('HSET', p .. 'k', kind[1], kind[2])
    call('HSET', p .. 'kn', kind[2], kind[1])
    if kind[3] then call('SADD', p .. 'kf' .. kind[3], struct.pack('>I4', tonumber(kind[1]))) end
  end
  return numbers
end

-- Bytes of the ids of a job that recurs, of a workflow, and of a job whose execution has an id of its own.
local RECURS, WORKFLOW, LATER = 16, 33, 34

-- An empty list, which nothing changes.
local NONE = {}

-- Reads a job from the arguments behind `at`. Returns it and the index of its last argument.
local function read_job(p, args, at)
  local ids, names = args[at + 1], args[at + 6]
  local id, form = sub(ids, 1, 16), #ids
  local made = {
    id = id,
    key = p .. 'e' .. id,
    job = form == RECURS and id or sub(ids, 17, 32),
    record = args[at + 2],
    unique = args[at + 3],
    more = args[at + 4],
    tenant = args[at + 5],
    bodies = names == '' and NONE or names_in(names),
    name = args[at + 7],
    recurs = form == RECURS,
    is_later = form == LATER or form == WORKFLOW and id ~= first_execution(sub(ids, 17, 32)),
    roots = false,
  }
  if form ~= WORKFLOW then return made, at + 7 end
  made.roots, at = running.read_roots(args, at + 7)
  return made, at
end

-- Reads the submissions from the arguments behind the time and the notes.
local function read_submissions(p, args, at)
  local found = {}
  local i = at
  while i < #args do
    local submission = { digest = args[i + 1], hash = args[i + 2], told = args[i + 3], jobs = {} }
    local jobs = tonumber(args[i + 4])
    i = i + 4
    for n = 1, jobs do
      submission.jobs[n], i = read_job(p, args, i)
    end
    found[#found + 1] = submission
  end
  return found
end

-- Values of fields of a hash, by field.
local function fields(key, names)
  local found = {}
  if #names == 0 then return found end
  local at = 0
  parts(names, function(...)
    for _, value in ipairs(call('HMGET', key, ...)) do
      at = at + 1
      if value then found[names[at]] = value end
    end
  end)
  return found
end

-- Contents of the store on which the outcomes depend: answers of idempotency keys, holders of unique keys, ids of executions.
local function read_known(p, submissions)
  local digests, uniques, ids, names = {}, {}, {}, {}
  for _, submission in ipairs(submissions) do
    if submission.digest ~= '' then digests[#digests + 1] = submission.digest end
    for _, job in ipairs(submission.jobs) do
      local asked = job.recurs and names or uniques
      if job.unique ~= '' then asked[#asked + 1] = job.unique end
      ids[#ids + 1] = job.key
      for _, root in ipairs(job.roots or NONE) do
        ids[#ids + 1] = p .. 'e' .. root.id
      end
    end
  end
  local there = 0
  parts(ids, function(...)
    there = there + call('EXISTS', ...)
  end)
  local known = { answers = fields(p .. 'i', digests), holders = fields(p .. 'u', uniques), ids = {}, there = there }
  known.names = fields(p .. 'm', names)
  return known
end

local function exists(p, known, job)
  if known.ids[job.id] then return true end
  if known.there > 0 and job.roots and running.has_root(p, job.roots) then return true end
  if job.recurs then return call('EXISTS', p .. 'p' .. job.job) == 1 end
  return known.there > 0 and call('EXISTS', job.key) == 1
end

-- Answers for a job: that another one has its unique key, or its name as a recurring job; and that it is accepted.
local function held(job, holder)
  if job.recurs then return job.job .. holder .. char(3) end
  return holder .. char(1)
end

local function accepted(job)
  if job.recurs then return job.job .. string.rep('\0', 16) .. char(2) end
  return job.job .. job.id .. '\0'
end

-- Decides about the jobs of a submission. Returns the answer and the jobs to write; or nil and the id that is there already.
local function decide(p, known, submission)
  local answer, fresh, own, names, ids = {}, {}, {}, {}, {}
  for n, job in ipairs(submission.jobs) do
    local holders, mine = known.holders, own
    if job.recurs then holders, mine = known.names, names end
    local holder = job.unique ~= '' and (holders[job.unique] or mine[job.unique])
    if holder then
      answer[n] = held(job, holder)
    else
      if ids[job.id] or exists(p, known, job) then return nil, job.id end
      ids[job.id] = true
      answer[n] = accepted(job)
      fresh[#fresh + 1] = job
      if job.unique ~= '' then mine[job.unique] = job.recurs and job.job or job.job .. job.id end
    end
  end
  for id in pairs(ids) do known.ids[id] = true end
  for unique, holder in pairs(own) do known.holders[unique] = holder end
  for name, holder in pairs(names) do known.names[name] = holder end
  return table.concat(answer), fresh
end

-- Adds the id of a job to those of its second, which its first six bytes give.
local function index_second(writes, job)
  local instant, seconds = sub(job.job, 1, 6), writes.seconds[job.tenant]
  if seconds == nil then
    seconds = { by_instant = {}, by_second = {} }
    writes.seconds[job.tenant] = seconds
  end
  local ids = seconds.by_instant[instant]
  if ids == nil then
    local second = digits(math.floor(unpack_bytes('>I6', instant) / 1000))
    ids = seconds.by_second[second] or {}
    seconds.by_second[second], seconds.by_instant[instant] = ids, ids
  end
  ids[#ids + 1] = job.job
end

-- Adds what a new job writes.
local function stage(p, writes, job)
  if job.recurs then return recurring.stage(p, writes, job) end
  append(writes.values, 1, job.key, job.record)
  if job.more ~= '' then append(writes.values, 1, p .. 'j' .. job.job, job.more) end
  if job.unique ~= '' then append(writes.fields, p .. 'u', job.unique, job.job .. job.id) end
  index_second(writes, job)
  enqueue(writes.queues, job.id, job.record, 1)
  if job.name ~= '' then append(writes.sorted, p .. 'mo' .. job.name, 0, job.job) end
  if job.is_later then
    recurring.index(p, writes, job.job, job.id, job.record, job.tenant)
  elseif job.roots then
    running.add(p, writes, job.id, job.record, job.tenant, job.job)
  end
  if job.roots then running.stage_roots(p, writes, job.roots) end
end

local function write_submitted(p, writes)
  parts(writes.values[1] or {}, function(...)
    call('MSET', ...)
  end)
  write_lists('HSET', writes.fields)
  for tenant, seconds in pairs(writes.seconds) do
    for second, ids in pairs(seconds.by_second) do
      call('APPEND', p .. 'x' .. tenant .. ':' .. second, table.concat(ids))
      call('ZADD', p .. 'xb' .. tenant, second, second)
    end
    call('SADD', p .. 'xt', tenant)
  end
  recurring.write_indexes(p, writes)
  write_queues(writes.queues)
end

-- Keeps digests of idempotency keys for their removal.
local function keep_digests(p, second, digests)
  call('APPEND', p .. 'ix:' .. second, table.concat(digests))
  call('ZADD', p .. 'ixb', second, second)
end

-- Arguments: the time in seconds, the notes, and for each submission the digest of its idempotency key, the digest of its request, its
-- lifecycle events and the number of its jobs, each with its ids, record, unique key, further content, tenant, the name of its body and its
-- own name. An empty text: none. A job that recurs has one id only, the record of its plan, and its name instead of the unique key. A
-- workflow has a byte more behind its ids, and then the number of its first nodes, each with its id and record. A job whose execution has
-- an id that does not follow from its own has two bytes more.
-- Answers for each submission: A and R with the ids of its jobs (accepted, repeated), K (key reused), X with the id that is there already.
local function submit(keys, args)
  local p, at = keys[1], args[1]
  local notes = read_notes(args, 1)
  local submissions = read_submissions(p, args, 2 + 3 * #notes)
  if is_taken(p, notes) then return TAKEN end
  local known, outcomes, bodies = read_known(p, submissions), {}, {}
  local writes = recurring.new_writes(p)
  writes.seconds, writes.queues = {}, new_queues(p)
  local digests = {}
  for n, submission in ipairs(submissions) do
    local first = submission.digest ~= '' and known.answers[submission.digest]
    if first then
      outcomes[n] = sub(first, 1, 16) == submission.hash and 'R' .. sub(first, 17) or 'K'
    else
      local answer, fresh = decide(p, known, submission)
      outcomes[n] = answer and 'A' .. answer or 'X' .. fresh
      for _, job in ipairs(answer and fresh or submission.jobs) do
        -- The body of a job that is there already is that of the stored one, which upkeep must not remove.
        if answer or job.id == fresh then
          for _, name in ipairs(job.bodies) do
            bodies[#bodies + 1] = name
          end
        end
        if answer then stage(p, writes, job) end
      end
      if answer then telling.stage_jobs(writes, submission.told, fresh) end
      if answer and submission.digest ~= '' then
        known.answers[submission.digest] = submission.hash .. answer
        append(writes.fields, p .. 'i', submission.digest, submission.hash .. answer)
        digests[#digests + 1] = submission.digest
      end
    end
  end
  if not has_bodies(p, bodies) then return BODY_GONE end
  write_submitted(p, writes)
  telling.write_jobs(p, writes)
  if #digests > 0 then keep_digests(p, at, digests) end
  keep_bodies(p, bodies)
  write_notes(p, notes)
  return outcomes
end
