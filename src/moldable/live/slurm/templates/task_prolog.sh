#!/bin/sh
# TaskProlog of Slurm: passes its width to the script of a moldable job.
#
# Lines printed as "export NAME=VALUE" become part of the environment: of the scripts of jobs that
# job_submit.lua has marked, not of their steps, for which srun sets what is needed.
[ -n "$MOLDABLE_SHAPE" ] && [ -z "$SLURM_STEP_ID" ] || exit 0
case $MOLDABLE_SHAPE in
@{shapes}
*)
  exit 0
  ;;
esac
exit 0
