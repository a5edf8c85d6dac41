{ web():: 'green' }
