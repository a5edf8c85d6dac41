{ web():: 'blue' }
