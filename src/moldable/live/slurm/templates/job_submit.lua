-- Moldable jobs at submission, for Slurm's plugin job_submit/lua.
--
-- A job is moldable if its comment is moldable:CLASS, or moldable:CLASS;shape=SHAPE. What happens to
-- it depends on the mode that the agent of moldable states in its heartbeat:
--
--   observe  nothing;
--   advise   the user is told the width that the job would get;
--   enforce  the job is marked and put on hold, and the agent decides about it;
--   loss     the job gets its width now, or is refused.
--
-- In case of doubt a job passes unchanged: no fresh heartbeat, the disable file, a class or partition
-- that is not the agent's, an array, a job that its user holds, options that cannot be combined with a
-- width, or an error in this file. Only the mode loss refuses jobs. No program is run, because
-- slurmctld would wait for it.

local HEARTBEAT = @{heartbeat}
local DISABLE = @{disable}
local JOURNAL = @{journal}
local MAX_AGE = @{max_age} -- seconds after which a heartbeat is stale
local FORGET = @{forget} -- seconds after which a grant that never came into the queue is forgotten
local LARGEST = 4 * 1024 * 1024 -- bytes that are read of a heartbeat
local UNSET = 65534 -- Slurm's numbers from here on mean "not given"
local NAME = "([A-Za-z0-9_.-]+)"

local loaded = os.time() -- grants made before are not in the ledger
local ledger = {} -- grants that the agent has not found in the queue yet
local grants = 0
local beat_drawn, draws_used = nil, 0

local function text_given(value)
  return value ~= nil and value ~= ""
end

local function number_given(value)
  return type(value) == "number" and value < UNSET
end

-- A file that cannot be read counts as present: switching off must not depend on its mode.
local function is_present(path)
  local file, _, code = io.open(path, "r")
  if file then
    file:close()
  end
  return file ~= nil or code ~= 2
end

local function read_heartbeat(now)
  if is_present(DISABLE) then
    return nil, "the disable file is there"
  end
  local file = io.open(HEARTBEAT, "r")
  if not file then
    return nil, "there is no heartbeat of the agent"
  end
  local text = file:read(LARGEST) or ""
  file:close()
  if not text:find("^moldable 1\n") or not text:find("\nend\n$") then
    return nil, "the heartbeat cannot be read"
  end
  local beat = { classes = {} }
  for line in text:gmatch("([^\n]*)\n") do
    local key, rest = line:match("^(%l+) (.*)$")
    if key == "class" then
      local name, row = rest:match("^(%S+) (.*)$")
      beat.classes[name] = row
    elseif key then
      beat[key] = rest
    end
  end
  beat.time, beat.idle = tonumber(beat.time), tonumber(beat.idle)
  if math.abs(now - beat.time) > MAX_AGE then
    return nil, "the heartbeat is stale"
  end
  return beat
end

local function read_comment(comment)
  if type(comment) ~= "string" then
    return nil
  end
  local class = comment:match("^moldable:" .. NAME .. "$")
  local shape = nil
  if not class then
    class, shape = comment:match("^moldable:" .. NAME .. ";shape=(%l+)$")
  end
  return class, shape
end

local function has_word(text, word)
  return (" " .. text .. " "):find(" " .. word .. " ", 1, true) ~= nil
end

-- Options that cannot be combined with widths. The agent knows more of them, and releases such jobs
-- unchanged; numbers of nodes are not seen in the queue.
local function refused_option(job, shape)
  local texts = {
    { "req_nodes", "--nodelist" }, { "features", "--constraint" }, { "reservation", "--reservation" },
    { "tres_per_job", "--gpus" }, { "tres_per_socket", "--gpus-per-socket" },
  }
  for _, pair in ipairs(texts) do
    if text_given(job[pair[1]]) then
      return pair[2]
    end
  end
  if text_given(job.tres_per_task) and job.tres_per_task:find("gpu", 1, true) then
    return "--gpus-per-task"
  end
  if number_given(job.ntasks_per_node) and job.ntasks_per_node > 0 then
    return "--ntasks-per-node"
  end
  local nodes = number_given(job.max_nodes) or number_given(job.min_nodes) and job.min_nodes > 1
  if shape == "tasks" and nodes then
    return "--nodes"
  end
  return nil
end

-- Further options with which a width cannot be set, or the job not be started, at once.
local function refused_at_once(job)
  if text_given(job.dependency) then
    return "--dependency"
  end
  if type(job.begin_time) == "number" and job.begin_time > os.time() then
    return "--begin"
  end
  if text_given(job.tres_per_node) then
    return "--gres"
  end
  if number_given(job.cpus_per_task) and job.cpus_per_task > 1 then
    return "--cpus-per-task"
  end
  if job.shared == 0 then
    return "--exclusive"
  end
  return nil
end

local function doubt(job, class, shape, beat)
  if not beat.classes[class] then
    return "the plan has no class " .. class
  end
  if not has_word(beat.shapes, shape) then
    return "the shape " .. shape .. " is not decided about here"
  end
  local partition, default = beat.partition:match("^(%S+) (%l+)$")
  if text_given(job.partition) and job.partition ~= partition
    or not text_given(job.partition) and default ~= "default" then
    return "widths are decided in partition " .. partition .. " only"
  end
  if text_given(job.array_inx) then
    return "it is an array"
  end
  if job.priority == 0 then
    return "it is on hold"
  end
  if number_given(job.het_job_offset) then
    return "it is a part of a heterogeneous job"
  end
  if not text_given(job.script) then
    return "it has no script"
  end
  if text_given(job.admin_comment) then
    return "it has an admin comment"
  end
  local option = refused_option(job, shape) or beat.mode == "loss" and refused_at_once(job)
  return option and "a width cannot be set together with " .. option or nil
end

local function width_of(row, idle, draw)
  local outcome = "0"
  for least, text in row:gmatch("(%d+):(%S+)") do
    if tonumber(least) > idle then
      break
    end
    outcome = text
  end
  local width = 0
  for part in outcome:gmatch("[^,]+") do
    local number, bound = part:match("^(%d+)<?(.*)$")
    width = tonumber(number)
    if bound == "" or draw < tonumber(bound) then
      break
    end
  end
  return width
end

local function next_draw(beat)
  local draws = {}
  for draw in beat.draws:gmatch("%S+") do
    draws[#draws + 1] = tonumber(draw)
  end
  if #draws == 0 then
    return 0
  end
  if beat_drawn ~= beat.time then
    beat_drawn, draws_used = beat.time, 0
  end
  draws_used = draws_used + 1
  return draws[(draws_used - 1) % #draws + 1]
end

-- Servers that are idle now: those of the heartbeat without what was granted since.
local function idle_now(beat)
  local idle, kept = beat.idle, {}
  for _, grant in ipairs(ledger) do
    if not has_word(beat.seen, grant.seq) and beat.time - grant.time < FORGET then
      kept[#kept + 1] = grant
      idle = idle - grant.width
    end
  end
  ledger = kept
  return idle
end

-- TaskProlog looks at these. Interactive jobs have no environment here.
local function tell_job(job, class, shape)
  pcall(function()
    job.environment["MOLDABLE_CLASS"] = class
    job.environment["MOLDABLE_SHAPE"] = shape
  end)
end

local function note_refusal(seq, class, idle, beat, now)
  local file = JOURNAL ~= "" and io.open(JOURNAL, "r+") -- only the agent makes it, with its mode
  if not file then
    return
  end
  file:close()
  file = io.open(JOURNAL, "a")
  file:write(string.format(
    '{"time": %d, "event": "blocked", "job": "refused-%s", "class": "%s", "idle": %d, '
      .. '"waiting": 0, "width": 0, "submitted": %d, "plan": "%s"}\n',
    now, seq, class, math.max(idle, 0), now, beat.plan))
  file:close()
end

local function enforce(job, class, shape)
  tell_job(job, class, shape)
  job.admin_comment = "moldable:" .. class .. ";shape=" .. shape
  job.priority = 0
  return slurm.SUCCESS
end

local function advise(_, class, _, beat)
  local width = width_of(beat.classes[class], beat.idle, next_draw(beat))
  local text = string.format("width %d of %d idle servers", width, beat.idle)
  if width == 0 then
    text = string.format("no servers now, %d are idle", math.max(beat.idle, 0))
  end
  slurm.log_user("%s", "moldable: class " .. class .. " would get " .. text)
  return slurm.SUCCESS
end

local function decide_at_once(job, class, shape, beat, now)
  if beat.time <= loaded then -- it may not know of grants made before this file was loaded
    return slurm.SUCCESS
  end
  local idle = idle_now(beat)
  local width = width_of(beat.classes[class], idle, next_draw(beat))
  grants = grants + 1
  local seq = string.format("%d.%d", loaded, grants)
  if width < 1 then
    pcall(note_refusal, seq, class, idle, beat, now)
    slurm.log_info("%s", string.format("moldable: refused: class %s, %d idle", class, idle))
    slurm.log_user("%s", string.format(
      "moldable: refused, because there are no servers for class %s now (%d idle); submit it later",
      class, math.max(idle, 0)))
    return slurm.ERROR
  end
  tell_job(job, class, shape)
  job.num_tasks, job.min_cpus, job.max_cpus = width, width, width
  job.admin_comment = string.format("moldable:%s;shape=%s;granting=%d;idle=%d;waiting=0;plan=%s;seq=%s",
    class, shape, width, idle, beat.plan, seq)
  ledger[#ledger + 1] = { seq = seq, width = width, time = now }
  slurm.log_user("%s", string.format("moldable: width %d of %d idle servers", width, idle))
  return slurm.SUCCESS
end

local MODES = { enforce = enforce, advise = advise, loss = decide_at_once }

local function submit(job)
  local class, shape = read_comment(job.comment)
  if not class then
    return slurm.SUCCESS
  end
  local now = os.time()
  local beat, reason = read_heartbeat(now)
  if not beat then
    slurm.log_info("%s", "moldable: a job of class " .. class .. " passes untouched: " .. reason)
    return slurm.SUCCESS
  end
  local act = MODES[beat.mode]
  if not act then
    return slurm.SUCCESS
  end
  shape = shape or beat.shapes:match("^%l+")
  reason = doubt(job, class, shape, beat)
  if reason then
    slurm.log_user("%s", "moldable: the job runs as it was submitted: " .. reason)
    return slurm.SUCCESS
  end
  return act(job, class, shape, beat, now)
end

function slurm_job_submit(job, _, _)
  local worked, answer = pcall(submit, job)
  if worked then
    return answer
  end
  slurm.log_error("%s", "moldable: a job passes untouched: " .. tostring(answer))
  return slurm.SUCCESS
end

function slurm_job_modify(_, _, _, _)
  return slurm.SUCCESS
end

return slurm.SUCCESS
