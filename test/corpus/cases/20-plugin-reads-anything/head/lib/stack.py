color = "green"
