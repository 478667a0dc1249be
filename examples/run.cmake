# SPDX-License-Identifier: Apache-2.0
# Runs PROGRAM in FOLDER, which is emptied before.
file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER})
execute_process(COMMAND ${PROGRAM} WORKING_DIRECTORY ${FOLDER} COMMAND_ERROR_IS_FATAL ANY)
